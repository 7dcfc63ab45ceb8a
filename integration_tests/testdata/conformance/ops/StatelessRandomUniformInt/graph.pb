
2
shape_0Placeholder*
dtype0*
shape:
1
seed_0Placeholder*
dtype0	*
shape:
3
minval_0Placeholder*
dtype0*
shape:
3
maxval_0Placeholder*
dtype0*
shape:
k
call_0StatelessRandomUniformIntshape_0seed_0minval_0maxval_0*
Tseed0	*
T0*
dtype0
2
shape_1Placeholder*
dtype0*
shape:
1
seed_1Placeholder*
dtype0*
shape:
3
minval_1Placeholder*
dtype0*
shape:
3
maxval_1Placeholder*
dtype0*
shape:
k
call_1StatelessRandomUniformIntshape_1seed_1minval_1maxval_1*
Tseed0*
T0*
dtype0
2
shape_2Placeholder*
dtype0*
shape:
1
seed_2Placeholder*
dtype0	*
shape:
3
minval_2Placeholder*
dtype0	*
shape:
3
maxval_2Placeholder*
dtype0	*
shape:
k
call_2StatelessRandomUniformIntshape_2seed_2minval_2maxval_2*
Tseed0	*
T0*
dtype0	
2
shape_3Placeholder*
dtype0*
shape:
1
seed_3Placeholder*
dtype0*
shape:
3
minval_3Placeholder*
dtype0	*
shape:
3
maxval_3Placeholder*
dtype0	*
shape:
k
call_3StatelessRandomUniformIntshape_3seed_3minval_3maxval_3*
Tseed0*
T0*
dtype0	
2
shape_4Placeholder*
dtype0	*
shape:
1
seed_4Placeholder*
dtype0*
shape:
3
minval_4Placeholder*
dtype0*
shape:
3
maxval_4Placeholder*
dtype0*
shape:
k
call_4StatelessRandomUniformIntshape_4seed_4minval_4maxval_4*
Tseed0*
T0	*
dtype0"ª