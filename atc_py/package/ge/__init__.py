"""Offline models of Huawei's own atc: `open_huawei` reads them, without protobuf or CANN."""
