
>
backprop_val_grad_0Placeholder*
dtype0*
shape:
6
a_indices_0Placeholder*
dtype0	*
shape:
6
b_indices_0Placeholder*
dtype0	*
shape:
8
sum_indices_0Placeholder*
dtype0	*
shape:
^
call_0SparseAddGradbackprop_val_grad_0a_indices_0b_indices_0sum_indices_0*
T0"ª