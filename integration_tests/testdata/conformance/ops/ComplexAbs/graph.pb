
.
x_0Placeholder*
dtype0*
shape:
.
call_0
ComplexAbsx_0*

Tout0*
T0
.
x_1Placeholder*
dtype0*
shape:
.
call_1
ComplexAbsx_1*

Tout0*
T0"ª