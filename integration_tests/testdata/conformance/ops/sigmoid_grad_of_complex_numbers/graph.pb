
:
SigmoidGrad/y_0Placeholder*
dtype0*
shape:
;
SigmoidGrad/dy_0Placeholder*
dtype0*
shape:
M
SigmoidGrad/call_0SigmoidGradSigmoidGrad/y_0SigmoidGrad/dy_0*
T0"ª