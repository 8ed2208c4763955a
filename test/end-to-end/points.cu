// Unusual but well-defined point programs, and two races: all of the former verify, both of the latter are refused.
#include <cuda_runtime.h>
__global__ void prefix(float* a, int n, int m) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i>=n) return; for (int j=1;j<m;++j) a[j*n+i] += a[(j-1)*n+i]; }
void l1(float* a,int n,int m){ prefix<<<(n+127)/128,128>>>(a,n,m); }
__global__ void back(const float* x, float* y, int n, int m) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<n) { float s=0; for (int j=m-1;j>=0;--j) { s = s*0.5f + x[i*m+j]; y[i*m+j]=s; } } }
void l2(const float*x,float*y,int n,int m){ back<<<(n+63)/64,64>>>(x,y,n,m); }
__global__ void cond(const float* x, float* y, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<n) { float v=x[i]; if (v>0.f) y[i]=v; } }
void l3(const float*x,float*y,int n){ cond<<<(n+63)/64,64>>>(x,y,n); }
__global__ void early(const float* x, float* y, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i>=n) return; float v=x[i]; if (v<0.f) return; float w = v*v; y[i]=w; if (w>0.5f) y[i]=1.f; }
void l4(const float*x,float*y,int n){ early<<<(n+63)/64,64>>>(x,y,n); }
__global__ void strided(const int* x, int* y, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (2*i+1<n) { y[2*i]=x[2*i+1]; y[2*i+1]=x[2*i]; } }
void l5(const int*x,int*y,int n){ strided<<<(n/2+63)/64,64>>>(x,y,n); }
__global__ void tri(const double* A, double* C, int n) { int j = blockIdx.x*blockDim.x+threadIdx.x, i = blockIdx.y*blockDim.y+threadIdx.y; if (i<n && j>=i && j<n) { double s=0; for (int k=i;k<=j;k++) s+=A[k*n+i]; C[i*n+j]=s; } }
void l6(const double*A,double*C,int n){ dim3 b(16,8); dim3 g((n+15)/16,(n+7)/8); tri<<<g,b>>>(A,C,n); }
__global__ void shiftd(const float* x, float* y, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<n) { y[i] = i>0 ? x[i-1] : 0.f; if (i == n-1) y[i] += x[i]; } }
void l7(const float*x,float*y,int n){ shiftd<<<(n+63)/64,64>>>(x,y,n); }
__global__ void swap2(float* x, float* y, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<n) { float t=x[i]; x[i]=y[i]; y[i]=t; x[i]=x[i]*2.f; } }
void l8(float*x,float*y,int n){ swap2<<<(n+63)/64,64>>>(x,y,n); }
__global__ void over(float* x, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<n) x[i/2] = i; }
void l9(float*x,int n){ over<<<(n+63)/64,64>>>(x,n); }
__global__ void shiftrace(float* x, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<n-1) x[i] = x[i+1]; }
void l10(float*x,int n){ shiftrace<<<(n+63)/64,64>>>(x,n); }
__global__ void two(const float* A, const float* B, float* C, int m, int n, int k) { int j = blockIdx.x*blockDim.x+threadIdx.x, i = blockIdx.y*blockDim.y+threadIdx.y; if (i<m && j<n) { float s=0, t=1; for (int l=0;l<k;l++) { float a=A[i*k+l]; s+=a*B[l*n+j]; t=fmaxf(t,a); } for (int l=0;l<k;l+=2) s-=A[i*k+l]; C[i*n+j]=s/t; } }
void l11(const float*A,const float*B,float*C,int m,int n,int k){ dim3 b(16,8); dim3 g((n+15)/16,(m+7)/8); two<<<g,b>>>(A,B,C,m,n,k); }
__global__ void keepzero(const float* A, float* C, int m, int k) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<m) { for (int l=0;l<k;l++) C[i] += A[i*k+l]; } }
void l12(const float*A,float*C,int m,int k){ keepzero<<<(m+63)/64,64>>>(A,C,m,k); }
