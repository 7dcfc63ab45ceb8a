
:
sorted_inputs_0Placeholder*
dtype0*
shape:
3
values_0Placeholder*
dtype0*
shape:
H
call_0
LowerBoundsorted_inputs_0values_0*
T0*
out_type0
:
sorted_inputs_1Placeholder*
dtype0*
shape:
3
values_1Placeholder*
dtype0*
shape:
H
call_1
LowerBoundsorted_inputs_1values_1*
T0*
out_type0	"ª