"""Float models on their way to int8: layers that can be quantized, equivalent rewrites, QDQ nodes."""
