
2
shape_0Placeholder*
dtype0*
shape:
1
seed_0Placeholder*
dtype0	*
shape:
S
call_0StatelessRandomNormalshape_0seed_0*
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
S
call_1StatelessRandomNormalshape_1seed_1*
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
S
call_2StatelessRandomNormalshape_2seed_2*
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
S
call_3StatelessRandomNormalshape_3seed_3*
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
S
call_4StatelessRandomNormalshape_4seed_4*
Tseed0*
T0	*
dtype0"ª