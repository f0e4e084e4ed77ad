"""Reports on programs that `atc-py exec` ran: tables, JSON, HTML."""
