
3
values_0Placeholder*
dtype0*
shape:
8
value_range_0Placeholder*
dtype0*
shape:
2
nbins_0Placeholder*
dtype0*
shape:
U
call_0HistogramFixedWidthvalues_0value_range_0nbins_0*
T0*
dtype0
3
values_1Placeholder*
dtype0*
shape:
8
value_range_1Placeholder*
dtype0*
shape:
2
nbins_1Placeholder*
dtype0*
shape:
U
call_1HistogramFixedWidthvalues_1value_range_1nbins_1*
T0*
dtype0	
3
values_2Placeholder*
dtype0*
shape:
8
value_range_2Placeholder*
dtype0*
shape:
2
nbins_2Placeholder*
dtype0*
shape:
U
call_2HistogramFixedWidthvalues_2value_range_2nbins_2*
T0*
dtype0
3
values_3Placeholder*
dtype0*
shape:
8
value_range_3Placeholder*
dtype0*
shape:
2
nbins_3Placeholder*
dtype0*
shape:
U
call_3HistogramFixedWidthvalues_3value_range_3nbins_3*
T0*
dtype0
3
values_4Placeholder*
dtype0	*
shape:
8
value_range_4Placeholder*
dtype0	*
shape:
2
nbins_4Placeholder*
dtype0*
shape:
U
call_4HistogramFixedWidthvalues_4value_range_4nbins_4*
T0	*
dtype0"ª