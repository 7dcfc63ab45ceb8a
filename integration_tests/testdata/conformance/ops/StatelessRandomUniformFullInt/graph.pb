
2
shape_0Placeholder*
dtype0*
shape:
1
seed_0Placeholder*
dtype0	*
shape:
[
call_0StatelessRandomUniformFullIntshape_0seed_0*
Tseed0	*
T0*
dtype0
2
shape_1Placeholder*
dtype0*
shape:
1
seed_1Placeholder*
dtype0	*
shape:
[
call_1StatelessRandomUniformFullIntshape_1seed_1*
Tseed0	*
T0*
dtype0	
2
shape_2Placeholder*
dtype0*
shape:
1
seed_2Placeholder*
dtype0	*
shape:
[
call_2StatelessRandomUniformFullIntshape_2seed_2*
Tseed0	*
T0*
dtype0
2
shape_3Placeholder*
dtype0*
shape:
1
seed_3Placeholder*
dtype0	*
shape:
[
call_3StatelessRandomUniformFullIntshape_3seed_3*
Tseed0	*
T0*
dtype0
2
shape_4Placeholder*
dtype0*
shape:
1
seed_4Placeholder*
dtype0*
shape:
[
call_4StatelessRandomUniformFullIntshape_4seed_4*
Tseed0*
T0*
dtype0
2
shape_5Placeholder*
dtype0*
shape:
1
seed_5Placeholder*
dtype0*
shape:
[
call_5StatelessRandomUniformFullIntshape_5seed_5*
Tseed0*
T0*
dtype0	
2
shape_6Placeholder*
dtype0*
shape:
1
seed_6Placeholder*
dtype0*
shape:
[
call_6StatelessRandomUniformFullIntshape_6seed_6*
Tseed0*
T0*
dtype0
2
shape_7Placeholder*
dtype0*
shape:
1
seed_7Placeholder*
dtype0*
shape:
[
call_7StatelessRandomUniformFullIntshape_7seed_7*
Tseed0*
T0*
dtype0
2
shape_8Placeholder*
dtype0*
shape:
1
seed_8Placeholder*
dtype0*
shape:
[
call_8StatelessRandomUniformFullIntshape_8seed_8*
Tseed0*
T0*
dtype0
2
shape_9Placeholder*
dtype0*
shape:
1
seed_9Placeholder*
dtype0*
shape:
[
call_9StatelessRandomUniformFullIntshape_9seed_9*
Tseed0*
T0*
dtype0"ª