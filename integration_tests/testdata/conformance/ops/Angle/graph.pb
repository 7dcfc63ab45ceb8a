
2
input_0Placeholder*
dtype0*
shape:
-
call_0Angleinput_0*

Tout0*
T0
2
input_1Placeholder*
dtype0*
shape:
-
call_1Angleinput_1*

Tout0*
T0"ª