
2
shape_0Placeholder*
dtype0*
shape:
1
seed_0Placeholder*
dtype0	*
shape:
T
call_0StatelessRandomUniformshape_0seed_0*
Tseed0	*
T0*
dtype0
2
shape_1Placeholder*
dtype0*
shape:
1
seed_1Placeholder*
dtype0	*
shape:
T
call_1StatelessRandomUniformshape_1seed_1*
Tseed0	*
T0*
dtype0
2
shape_2Placeholder*
dtype0*
shape:
1
seed_2Placeholder*
dtype0	*
shape:
T
call_2StatelessRandomUniformshape_2seed_2*
Tseed0	*
T0*
dtype0
2
shape_3Placeholder*
dtype0*
shape:
1
seed_3Placeholder*
dtype0	*
shape:
T
call_3StatelessRandomUniformshape_3seed_3*
Tseed0	*
T0*
dtype0
2
shape_4Placeholder*
dtype0	*
shape:
1
seed_4Placeholder*
dtype0*
shape:
T
call_4StatelessRandomUniformshape_4seed_4*
Tseed0*
T0	*
dtype0"ª