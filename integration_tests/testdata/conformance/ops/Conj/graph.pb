
2
input_0Placeholder*
dtype0*
shape:
 
call_0Conjinput_0*
T0
2
input_1Placeholder*
dtype0*
shape:
 
call_1Conjinput_1*
T0"ª