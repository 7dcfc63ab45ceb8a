
5
x0_0Placeholder*
dtype0*
shape
:
*
f0/MatrixDiag
MatrixDiagx0_0*
T0
(
f0/yIdentityf0/MatrixDiag*
T0
€
dy0Const*
dtype0*e
value\BZ"HMñ?¨K\?æ7€?øI’?n¶?„'8?`?.€È?7‰Ñ?ï@‰?º]n?e­?S›?r&?w¾ß>–9J?%w¿?
\¤?"ª