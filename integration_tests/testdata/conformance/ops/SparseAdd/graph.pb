
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
3
thresh_0Placeholder*
dtype0*
shape:
{
call_0	SparseAdda_indices_0
a_values_0	a_shape_0b_indices_0
b_values_0	b_shape_0thresh_0*
Treal0*
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
3
thresh_1Placeholder*
dtype0*
shape:
{
call_1	SparseAdda_indices_1
a_values_1	a_shape_1b_indices_1
b_values_1	b_shape_1thresh_1*
Treal0*
T0
6
a_indices_2Placeholder*
dtype0	*
shape:
5

a_values_2Placeholder*
dtype0*
shape:
4
	a_shape_2Placeholder*
dtype0	*
shape:
6
b_indices_2Placeholder*
dtype0	*
shape:
5

b_values_2Placeholder*
dtype0*
shape:
4
	b_shape_2Placeholder*
dtype0	*
shape:
3
thresh_2Placeholder*
dtype0*
shape:
{
call_2	SparseAdda_indices_2
a_values_2	a_shape_2b_indices_2
b_values_2	b_shape_2thresh_2*
Treal0*
T0
6
a_indices_3Placeholder*
dtype0	*
shape:
5

a_values_3Placeholder*
dtype0*
shape:
4
	a_shape_3Placeholder*
dtype0	*
shape:
6
b_indices_3Placeholder*
dtype0	*
shape:
5

b_values_3Placeholder*
dtype0*
shape:
4
	b_shape_3Placeholder*
dtype0	*
shape:
3
thresh_3Placeholder*
dtype0*
shape:
{
call_3	SparseAdda_indices_3
a_values_3	a_shape_3b_indices_3
b_values_3	b_shape_3thresh_3*
Treal0*
T0
6
a_indices_4Placeholder*
dtype0	*
shape:
5

a_values_4Placeholder*
dtype0	*
shape:
4
	a_shape_4Placeholder*
dtype0	*
shape:
6
b_indices_4Placeholder*
dtype0	*
shape:
5

b_values_4Placeholder*
dtype0	*
shape:
4
	b_shape_4Placeholder*
dtype0	*
shape:
3
thresh_4Placeholder*
dtype0	*
shape:
{
call_4	SparseAdda_indices_4
a_values_4	a_shape_4b_indices_4
b_values_4	b_shape_4thresh_4*
Treal0	*
T0	
6
a_indices_5Placeholder*
dtype0	*
shape:
5

a_values_5Placeholder*
dtype0*
shape:
4
	a_shape_5Placeholder*
dtype0	*
shape:
6
b_indices_5Placeholder*
dtype0	*
shape:
5

b_values_5Placeholder*
dtype0*
shape:
4
	b_shape_5Placeholder*
dtype0	*
shape:
3
thresh_5Placeholder*
dtype0*
shape:
{
call_5	SparseAdda_indices_5
a_values_5	a_shape_5b_indices_5
b_values_5	b_shape_5thresh_5*
Treal0*
T0"ª