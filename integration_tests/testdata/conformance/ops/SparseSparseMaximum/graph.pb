
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
6
b_indices_0Placeholder*
dtype0	*
shape:
5

b_values_0Placeholder*
dtype0*
shape:
4
	b_shape_0Placeholder*
dtype0	*
shape:
n
call_0SparseSparseMaximuma_indices_0
a_values_0	a_shape_0b_indices_0
b_values_0	b_shape_0*
T0
6
a_indices_1Placeholder*
dtype0	*
shape:
5

a_values_1Placeholder*
dtype0*
shape:
4
	a_shape_1Placeholder*
dtype0	*
shape:
6
b_indices_1Placeholder*
dtype0	*
shape:
5

b_values_1Placeholder*
dtype0*
shape:
4
	b_shape_1Placeholder*
dtype0	*
shape:
n
call_1SparseSparseMaximuma_indices_1
a_values_1	a_shape_1b_indices_1
b_values_1	b_shape_1*
T0"ª