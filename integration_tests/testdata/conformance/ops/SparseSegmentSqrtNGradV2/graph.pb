
1
grad_0Placeholder*
dtype0*
shape:
4
	indices_0Placeholder*
dtype0*
shape:
8
segment_ids_0Placeholder*
dtype0*
shape:
>
dense_output_dim0_0Placeholder*
dtype0*
shape:

call_0SparseSegmentSqrtNGradV2grad_0	indices_0segment_ids_0dense_output_dim0_0*

Tidx0*
Tsegmentids0*
T0
1
grad_1Placeholder*
dtype0*
shape:
4
	indices_1Placeholder*
dtype0	*
shape:
8
segment_ids_1Placeholder*
dtype0*
shape:
>
dense_output_dim0_1Placeholder*
dtype0*
shape:

call_1SparseSegmentSqrtNGradV2grad_1	indices_1segment_ids_1dense_output_dim0_1*

Tidx0	*
Tsegmentids0*
T0
1
grad_2Placeholder*
dtype0*
shape:
4
	indices_2Placeholder*
dtype0*
shape:
8
segment_ids_2Placeholder*
dtype0*
shape:
>
dense_output_dim0_2Placeholder*
dtype0*
shape:

call_2SparseSegmentSqrtNGradV2grad_2	indices_2segment_ids_2dense_output_dim0_2*

Tidx0*
Tsegmentids0*
T0
1
grad_3Placeholder*
dtype0*
shape:
4
	indices_3Placeholder*
dtype0*
shape:
8
segment_ids_3Placeholder*
dtype0*
shape:
>
dense_output_dim0_3Placeholder*
dtype0*
shape:

call_3SparseSegmentSqrtNGradV2grad_3	indices_3segment_ids_3dense_output_dim0_3*

Tidx0*
Tsegmentids0*
T0"ª