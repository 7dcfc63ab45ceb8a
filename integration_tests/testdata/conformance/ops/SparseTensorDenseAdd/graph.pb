
6
a_indices_0Placeholder*
dtype0	*
shape:
5

a_values_0Placeholder*
dtype0*
shape:
4
	a_shape_0Placeholder*
dtype0	*
shape:
.
b_0Placeholder*
dtype0*
shape:
`
call_0SparseTensorDenseAdda_indices_0
a_values_0	a_shape_0b_0*
Tindices0	*
T0
6
a_indices_1Placeholder*
dtype0*
shape:
5

a_values_1Placeholder*
dtype0*
shape:
4
	a_shape_1Placeholder*
dtype0*
shape:
.
b_1Placeholder*
dtype0*
shape:
`
call_1SparseTensorDenseAdda_indices_1
a_values_1	a_shape_1b_1*
Tindices0*
T0"ª