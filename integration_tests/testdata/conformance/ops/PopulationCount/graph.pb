
.
x_0Placeholder*
dtype0*
shape:
'
call_0PopulationCountx_0*
T0
.
x_1Placeholder*
dtype0*
shape:
'
call_1PopulationCountx_1*
T0
.
x_2Placeholder*
dtype0*
shape:
'
call_2PopulationCountx_2*
T0
.
x_3Placeholder*
dtype0*
shape:
'
call_3PopulationCountx_3*
T0
.
x_4Placeholder*
dtype0*
shape:
'
call_4PopulationCountx_4*
T0
.
x_5Placeholder*
dtype0*
shape:
'
call_5PopulationCountx_5*
T0
.
x_6Placeholder*
dtype0	*
shape:
'
call_6PopulationCountx_6*
T0	
.
x_7Placeholder*
dtype0*
shape:
'
call_7PopulationCountx_7*
T0"ª