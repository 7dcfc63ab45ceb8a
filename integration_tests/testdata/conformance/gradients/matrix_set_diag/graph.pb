
9
x0_0Placeholder*
dtype0*
shape:
5
x0_1Placeholder*
dtype0*
shape
:
6
f0/MatrixSetDiagMatrixSetDiagx0_0x0_1*
T0
+
f0/yIdentityf0/MatrixSetDiag*
T0
˜
dy0Const*
dtype0*}
valuetBr"`™e?íou?•ÛÊ?n•?P€½?uú>ÞÀŽ?7‰Ñ?ÆÉ¢?c¹Z?Ù@?hw©?OL%?Å•
?”§2?%°?¨h?^M?­Ò¶?
ñ?w¾ß>ò-Ä?#œ?<ˆ?
5
x1_0Placeholder*
dtype0*
shape
:
1
x1_1Placeholder*
dtype0*
shape:
6
f1/MatrixSetDiagMatrixSetDiagx1_0x1_1*
T0
+
f1/yIdentityf1/MatrixSetDiag*
T0
X
dy1Const*
dtype0*=
value4B2"$7‰Ñ?¬<?Ñ"«?V¾?¢E?w¾ß>j¼„?oc?žï—?"ª