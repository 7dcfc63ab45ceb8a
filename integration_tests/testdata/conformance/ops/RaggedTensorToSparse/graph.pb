
?
rt_nested_splits_0_0Placeholder*
dtype0	*
shape:
<
rt_dense_values_0Placeholder*
dtype0*
shape:
r
call_0RaggedTensorToSparsert_nested_splits_0_0rt_dense_values_0*
RAGGED_RANK*
Tsplits0	*
T0
?
rt_nested_splits_1_0Placeholder*
dtype0	*
shape:
?
rt_nested_splits_1_1Placeholder*
dtype0	*
shape:
<
rt_dense_values_1Placeholder*
dtype0*
shape:
ˆ
call_1RaggedTensorToSparsert_nested_splits_1_0rt_nested_splits_1_1rt_dense_values_1*
RAGGED_RANK*
Tsplits0	*
T0
?
rt_nested_splits_2_0Placeholder*
dtype0*
shape:
<
rt_dense_values_2Placeholder*
dtype0*
shape:
r
call_2RaggedTensorToSparsert_nested_splits_2_0rt_dense_values_2*
RAGGED_RANK*
Tsplits0*
T0"ª