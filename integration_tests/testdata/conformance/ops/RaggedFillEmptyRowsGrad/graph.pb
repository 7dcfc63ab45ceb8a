
>
reverse_index_map_0Placeholder*
dtype0	*
shape:
8
grad_values_0Placeholder*
dtype0*
shape:
N
call_0RaggedFillEmptyRowsGradreverse_index_map_0grad_values_0*
T0
>
reverse_index_map_1Placeholder*
dtype0	*
shape:
8
grad_values_1Placeholder*
dtype0*
shape:
N
call_1RaggedFillEmptyRowsGradreverse_index_map_1grad_values_1*
T0"ª