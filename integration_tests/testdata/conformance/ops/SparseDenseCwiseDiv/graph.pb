
7
sp_indices_0Placeholder*
dtype0	*
shape:
6
sp_values_0Placeholder*
dtype0*
shape:
5

sp_shape_0Placeholder*
dtype0	*
shape:
2
dense_0Placeholder*
dtype0*
shape:
V
call_0SparseDenseCwiseDivsp_indices_0sp_values_0
sp_shape_0dense_0*
T0
7
sp_indices_1Placeholder*
dtype0	*
shape:
6
sp_values_1Placeholder*
dtype0*
shape:
5

sp_shape_1Placeholder*
dtype0	*
shape:
2
dense_1Placeholder*
dtype0*
shape:
V
call_1SparseDenseCwiseDivsp_indices_1sp_values_1
sp_shape_1dense_1*
T0
7
sp_indices_2Placeholder*
dtype0	*
shape:
6
sp_values_2Placeholder*
dtype0*
shape:
5

sp_shape_2Placeholder*
dtype0	*
shape:
2
dense_2Placeholder*
dtype0*
shape:
V
call_2SparseDenseCwiseDivsp_indices_2sp_values_2
sp_shape_2dense_2*
T0"ª