"""Two offline models compared, of atc-py or of Huawei's atc: launches, constants, memory."""
