
1
real_0Placeholder*
dtype0*
shape:
1
imag_0Placeholder*
dtype0*
shape:
6
call_0Complexreal_0imag_0*

Tout0*
T0
1
real_1Placeholder*
dtype0*
shape:
1
imag_1Placeholder*
dtype0*
shape:
6
call_1Complexreal_1imag_1*

Tout0*
T0"ª