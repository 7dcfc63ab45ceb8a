
2
shape_0Placeholder*
dtype0*
shape:
1
seed_0Placeholder*
dtype0	*
shape:
V
call_0StatelessTruncatedNormalshape_0seed_0*
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
V
call_1StatelessTruncatedNormalshape_1seed_1*
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
V
call_2StatelessTruncatedNormalshape_2seed_2*
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
V
call_3StatelessTruncatedNormalshape_3seed_3*
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
V
call_4StatelessTruncatedNormalshape_4seed_4*
Tseed0*
T0	*
dtype0"ª