"""Offline models of Huawei's atc as graphs of the target: imported, then compiled like any other."""
