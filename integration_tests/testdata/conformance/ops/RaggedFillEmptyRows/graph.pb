
9
value_rowids_0Placeholder*
dtype0	*
shape:
3
values_0Placeholder*
dtype0*
shape:
2
nrows_0Placeholder*
dtype0	*
shape:
:
default_value_0Placeholder*
dtype0*
shape:
Z
call_0RaggedFillEmptyRowsvalue_rowids_0values_0nrows_0default_value_0*
T0"ª