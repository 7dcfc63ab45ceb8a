
2
shape_0Placeholder*
dtype0*
shape:
0
key_0Placeholder*
dtype0*
shape:
4
	counter_0Placeholder*
dtype0*
shape:
0
alg_0Placeholder*
dtype0*
shape:
^
call_0StatelessRandomNormalV2shape_0key_0	counter_0alg_0*
Tshape0*
dtype0
2
shape_1Placeholder*
dtype0*
shape:
0
key_1Placeholder*
dtype0*
shape:
4
	counter_1Placeholder*
dtype0*
shape:
0
alg_1Placeholder*
dtype0*
shape:
^
call_1StatelessRandomNormalV2shape_1key_1	counter_1alg_1*
Tshape0*
dtype0
2
shape_2Placeholder*
dtype0*
shape:
0
key_2Placeholder*
dtype0*
shape:
4
	counter_2Placeholder*
dtype0*
shape:
0
alg_2Placeholder*
dtype0*
shape:
^
call_2StatelessRandomNormalV2shape_2key_2	counter_2alg_2*
Tshape0*
dtype0
2
shape_3Placeholder*
dtype0*
shape:
0
key_3Placeholder*
dtype0*
shape:
4
	counter_3Placeholder*
dtype0*
shape:
0
alg_3Placeholder*
dtype0*
shape:
^
call_3StatelessRandomNormalV2shape_3key_3	counter_3alg_3*
Tshape0*
dtype0"ª