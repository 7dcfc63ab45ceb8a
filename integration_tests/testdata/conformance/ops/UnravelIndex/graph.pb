
4
	indices_0Placeholder*
dtype0*
shape:
1
dims_0Placeholder*
dtype0*
shape:
5
call_0UnravelIndex	indices_0dims_0*

Tidx0
4
	indices_1Placeholder*
dtype0	*
shape:
1
dims_1Placeholder*
dtype0	*
shape:
5
call_1UnravelIndex	indices_1dims_1*

Tidx0	"ª