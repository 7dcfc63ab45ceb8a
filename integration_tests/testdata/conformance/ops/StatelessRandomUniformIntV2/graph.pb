
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
3
minval_0Placeholder*
dtype0*
shape:
3
maxval_0Placeholder*
dtype0*
shape:
v
call_0StatelessRandomUniformIntV2shape_0key_0	counter_0alg_0minval_0maxval_0*
Tshape0*
dtype0
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
3
minval_1Placeholder*
dtype0	*
shape:
3
maxval_1Placeholder*
dtype0	*
shape:
v
call_1StatelessRandomUniformIntV2shape_1key_1	counter_1alg_1minval_1maxval_1*
Tshape0*
dtype0	"ª