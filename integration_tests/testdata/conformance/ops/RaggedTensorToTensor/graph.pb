
2
shape_0Placeholder*
dtype0	*
shape:
3
values_0Placeholder*
dtype0*
shape:
:
default_value_0Placeholder*
dtype0*
shape:
D
row_partition_tensors_0_0Placeholder*
dtype0	*
shape:
Ê
call_0RaggedTensorToTensorshape_0values_0default_value_0row_partition_tensors_0_0*
Tindex0	*
Tshape0	*
T0*
num_row_partition_tensors*%
row_partition_types

ROW_SPLITS
2
shape_1Placeholder*
dtype0	*
shape:
3
values_1Placeholder*
dtype0*
shape:
:
default_value_1Placeholder*
dtype0*
shape:
D
row_partition_tensors_1_0Placeholder*
dtype0	*
shape:
D
row_partition_tensors_1_1Placeholder*
dtype0	*
shape:
÷
call_1RaggedTensorToTensorshape_1values_1default_value_1row_partition_tensors_1_0row_partition_tensors_1_1*
Tindex0	*
Tshape0	*
T0*
num_row_partition_tensors*7
row_partition_types 
FIRST_DIM_SIZEVALUE_ROWIDS
2
shape_2Placeholder*
dtype0	*
shape:
3
values_2Placeholder*
dtype0*
shape:
:
default_value_2Placeholder*
dtype0*
shape:
D
row_partition_tensors_2_0Placeholder*
dtype0	*
shape:
D
row_partition_tensors_2_1Placeholder*
dtype0	*
shape:
ñ
call_2RaggedTensorToTensorshape_2values_2default_value_2row_partition_tensors_2_0row_partition_tensors_2_1*
Tindex0	*
Tshape0	*
T0*
num_row_partition_tensors*1
row_partition_types

ROW_SPLITS
ROW_SPLITS
2
shape_3Placeholder*
dtype0	*
shape:
3
values_3Placeholder*
dtype0*
shape:
:
default_value_3Placeholder*
dtype0*
shape:
D
row_partition_tensors_3_0Placeholder*
dtype0	*
shape:
D
row_partition_tensors_3_1Placeholder*
dtype0	*
shape:
D
row_partition_tensors_3_2Placeholder*
dtype0	*
shape:
 
call_3RaggedTensorToTensorshape_3values_3default_value_3row_partition_tensors_3_0row_partition_tensors_3_1row_partition_tensors_3_2*
Tindex0	*
Tshape0	*
T0*
num_row_partition_tensors*E
row_partition_types.
,FIRST_DIM_SIZEVALUE_ROWIDSVALUE_ROWIDS
2
shape_4Placeholder*
dtype0*
shape:
3
values_4Placeholder*
dtype0*
shape:
:
default_value_4Placeholder*
dtype0*
shape:
D
row_partition_tensors_4_0Placeholder*
dtype0*
shape:
Ê
call_4RaggedTensorToTensorshape_4values_4default_value_4row_partition_tensors_4_0*
Tindex0*
Tshape0*
T0*
num_row_partition_tensors*%
row_partition_types

ROW_SPLITS
2
shape_5Placeholder*
dtype0	*
shape:
3
values_5Placeholder*
dtype0*
shape:
:
default_value_5Placeholder*
dtype0*
shape:
D
row_partition_tensors_5_0Placeholder*
dtype0	*
shape:
D
row_partition_tensors_5_1Placeholder*
dtype0	*
shape:
ó
call_5RaggedTensorToTensorshape_5values_5default_value_5row_partition_tensors_5_0row_partition_tensors_5_1*
Tindex0	*
Tshape0	*
T0*
num_row_partition_tensors*3
row_partition_types

ROW_SPLITSVALUE_ROWIDS"ª