"""The rational approximation of the Gauss error function that kernels share.

erf(x) = x * P(x^2) / Q(x^2) up to `ERF_END`, from where on it is 1 in float32. The coefficients,
lowest power first, are a fit of least relative error, 2e-8; all are positive, so nothing cancels.
"""

ERF_END = 3.93
ERF_P = (
    1.128379145,
    1.907806610e-01,
    5.278983263e-02,
    3.779465147e-03,
    2.848040575e-04,
    2.041977401e-06,
)
ERF_Q = (
    1.0,
    5.024076788e-01,
    1.142561816e-01,
    1.499714820e-02,
    1.165175437e-03,
    3.800390726e-05,
)
