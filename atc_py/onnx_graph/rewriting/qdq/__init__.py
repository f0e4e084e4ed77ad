"""Quantized models of other tools, rewritten into the form that Ascend's toolkit takes.

Such models have QuantizeLinear and DequantizeLinear around layers on floats, or operators such as
QLinearConv. The result has AscendQuant, layers on int8 with int32 sums, AscendDequant and
AscendAntiQuant.
"""
