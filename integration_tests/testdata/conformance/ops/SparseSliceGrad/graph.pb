
>
backprop_val_grad_0Placeholder*
dtype0*
shape:
:
input_indices_0Placeholder*
dtype0	*
shape:
8
input_start_0Placeholder*
dtype0	*
shape:
;
output_indices_0Placeholder*
dtype0	*
shape:
i
call_0SparseSliceGradbackprop_val_grad_0input_indices_0input_start_0output_indices_0*
T0"ª