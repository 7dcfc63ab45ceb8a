
6
split_dim_0Placeholder*
dtype0	*
shape:
4
	indices_0Placeholder*
dtype0	*
shape:
3
values_0Placeholder*
dtype0*
shape:
2
shape_0Placeholder*
dtype0	*
shape:
Z
call_0SparseSplitsplit_dim_0	indices_0values_0shape_0*
T0*
	num_split
6
split_dim_1Placeholder*
dtype0	*
shape:
4
	indices_1Placeholder*
dtype0	*
shape:
3
values_1Placeholder*
dtype0*
shape:
2
shape_1Placeholder*
dtype0	*
shape:
Z
call_1SparseSplitsplit_dim_1	indices_1values_1shape_1*
T0*
	num_split
6
split_dim_2Placeholder*
dtype0	*
shape:
4
	indices_2Placeholder*
dtype0	*
shape:
3
values_2Placeholder*
dtype0*
shape:
2
shape_2Placeholder*
dtype0	*
shape:
Z
call_2SparseSplitsplit_dim_2	indices_2values_2shape_2*
T0*
	num_split
6
split_dim_3Placeholder*
dtype0	*
shape:
4
	indices_3Placeholder*
dtype0	*
shape:
3
values_3Placeholder*
dtype0*
shape:
2
shape_3Placeholder*
dtype0	*
shape:
Z
call_3SparseSplitsplit_dim_3	indices_3values_3shape_3*
T0*
	num_split"ª