// HIP's vector types, `float4` and the like: structs of one to four numbers with arithmetic by element.
#pragma once

template <typename T, int N>
struct __rk_vector;

template <typename T>
struct __rk_vector<T, 1> {
    using value_type = T;
    T x;

    __rk_vector() = default;
    __host__ __device__ constexpr __rk_vector(T all) : x(all) {}
};

template <typename T>
struct alignas(2 * sizeof(T)) __rk_vector<T, 2> {
    using value_type = T;
    T x, y;

    __rk_vector() = default;
    __host__ __device__ constexpr __rk_vector(T all) : x(all), y(all) {}
    __host__ __device__ constexpr __rk_vector(T x, T y) : x(x), y(y) {}
};

template <typename T>
struct __rk_vector<T, 3> {
    using value_type = T;
    T x, y, z;

    __rk_vector() = default;
    __host__ __device__ constexpr __rk_vector(T all) : x(all), y(all), z(all) {}
    __host__ __device__ constexpr __rk_vector(T x, T y, T z) : x(x), y(y), z(z) {}
};

template <typename T>
struct alignas(4 * sizeof(T)) __rk_vector<T, 4> {
    using value_type = T;
    T x, y, z, w;

    __rk_vector() = default;
    __host__ __device__ constexpr __rk_vector(T all) : x(all), y(all), z(all), w(all) {}
    __host__ __device__ constexpr __rk_vector(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
};

// What `f` makes of each element, or of each pair of elements.
template <typename T, typename F>
__RK_BOTH constexpr auto __rk_map(const __rk_vector<T, 1> &a, F f) -> __rk_vector<decltype(f(a.x)), 1> {
    return {f(a.x)};
}
template <typename T, typename F>
__RK_BOTH constexpr auto __rk_map(const __rk_vector<T, 2> &a, F f) -> __rk_vector<decltype(f(a.x)), 2> {
    return {f(a.x), f(a.y)};
}
template <typename T, typename F>
__RK_BOTH constexpr auto __rk_map(const __rk_vector<T, 3> &a, F f) -> __rk_vector<decltype(f(a.x)), 3> {
    return {f(a.x), f(a.y), f(a.z)};
}
template <typename T, typename F>
__RK_BOTH constexpr auto __rk_map(const __rk_vector<T, 4> &a, F f) -> __rk_vector<decltype(f(a.x)), 4> {
    return {f(a.x), f(a.y), f(a.z), f(a.w)};
}
template <typename T, typename F>
__RK_BOTH constexpr __rk_vector<T, 1> __rk_zip(const __rk_vector<T, 1> &a, const __rk_vector<T, 1> &b, F f) {
    return {f(a.x, b.x)};
}
template <typename T, typename F>
__RK_BOTH constexpr __rk_vector<T, 2> __rk_zip(const __rk_vector<T, 2> &a, const __rk_vector<T, 2> &b, F f) {
    return {f(a.x, b.x), f(a.y, b.y)};
}
template <typename T, typename F>
__RK_BOTH constexpr __rk_vector<T, 3> __rk_zip(const __rk_vector<T, 3> &a, const __rk_vector<T, 3> &b, F f) {
    return {f(a.x, b.x), f(a.y, b.y), f(a.z, b.z)};
}
template <typename T, typename F>
__RK_BOTH constexpr __rk_vector<T, 4> __rk_zip(const __rk_vector<T, 4> &a, const __rk_vector<T, 4> &b, F f) {
    return {f(a.x, b.x), f(a.y, b.y), f(a.z, b.z), f(a.w, b.w)};
}

#define __RK_VECTOR_OPERATOR(symbol)                                                                        \
    template <typename T, int N>                                                                            \
    __RK_BOTH constexpr __rk_vector<T, N> operator symbol(const __rk_vector<T, N> &a, const __rk_vector<T, N> &b) { \
        return __rk_zip(a, b, [](T x, T y) -> T { return x symbol y; });                                    \
    }                                                                                                       \
    template <typename T, int N>                                                                            \
    __RK_BOTH constexpr __rk_vector<T, N> operator symbol(const __rk_vector<T, N> &a, __rk_exactly<T> b) {  \
        return a symbol __rk_vector<T, N>(b);                                                               \
    }                                                                                                       \
    template <typename T, int N>                                                                            \
    __RK_BOTH constexpr __rk_vector<T, N> operator symbol(__rk_exactly<T> a, const __rk_vector<T, N> &b) {  \
        return __rk_vector<T, N>(a) symbol b;                                                               \
    }                                                                                                       \
    template <typename T, int N>                                                                            \
    __RK_BOTH constexpr __rk_vector<T, N> &operator symbol##=(__rk_vector<T, N> &a, const __rk_vector<T, N> &b) { \
        return a = a symbol b;                                                                              \
    }                                                                                                       \
    template <typename T, int N>                                                                            \
    __RK_BOTH constexpr __rk_vector<T, N> &operator symbol##=(__rk_vector<T, N> &a, __rk_exactly<T> b) {    \
        return a = a symbol b;                                                                              \
    }

__RK_VECTOR_OPERATOR(+)
__RK_VECTOR_OPERATOR(-)
__RK_VECTOR_OPERATOR(*)
__RK_VECTOR_OPERATOR(/)
__RK_VECTOR_OPERATOR(%)
__RK_VECTOR_OPERATOR(&)
__RK_VECTOR_OPERATOR(|)
__RK_VECTOR_OPERATOR(^)
__RK_VECTOR_OPERATOR(<<)
__RK_VECTOR_OPERATOR(>>)

template <typename T, int N>
__RK_BOTH constexpr __rk_vector<T, N> operator-(const __rk_vector<T, N> &a) {
    return __rk_map(a, [](T x) -> T { return -x; });
}
template <typename T, int N>
__RK_BOTH constexpr __rk_vector<T, N> operator~(const __rk_vector<T, N> &a) {
    return __rk_map(a, [](T x) -> T { return ~x; });
}
template <typename T>
__RK_BOTH constexpr bool operator==(const __rk_vector<T, 1> &a, const __rk_vector<T, 1> &b) {
    return a.x == b.x;
}
template <typename T>
__RK_BOTH constexpr bool operator==(const __rk_vector<T, 2> &a, const __rk_vector<T, 2> &b) {
    return a.x == b.x && a.y == b.y;
}
template <typename T>
__RK_BOTH constexpr bool operator==(const __rk_vector<T, 3> &a, const __rk_vector<T, 3> &b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}
template <typename T>
__RK_BOTH constexpr bool operator==(const __rk_vector<T, 4> &a, const __rk_vector<T, 4> &b) {
    return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}
template <typename T, int N>
__RK_BOTH constexpr bool operator!=(const __rk_vector<T, N> &a, const __rk_vector<T, N> &b) {
    return !(a == b);
}

#define __RK_VECTORS(name, T)                                                                    \
    using name##1 = __rk_vector<T, 1>;                                                           \
    using name##2 = __rk_vector<T, 2>;                                                           \
    using name##3 = __rk_vector<T, 3>;                                                           \
    using name##4 = __rk_vector<T, 4>;                                                           \
    __RK_BOTH constexpr name##1 make_##name##1(T x) { return {x}; }                              \
    __RK_BOTH constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }                      \
    __RK_BOTH constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }              \
    __RK_BOTH constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

__RK_VECTORS(char, signed char)
__RK_VECTORS(uchar, unsigned char)
__RK_VECTORS(short, short)
__RK_VECTORS(ushort, unsigned short)
__RK_VECTORS(int, int)
__RK_VECTORS(uint, unsigned)
__RK_VECTORS(long, long)
__RK_VECTORS(ulong, unsigned long)
__RK_VECTORS(longlong, long long)
__RK_VECTORS(ulonglong, unsigned long long)
__RK_VECTORS(float, float)
__RK_VECTORS(double, double)

// Grid and block sizes; what is left out is 1.
struct dim3 {
    unsigned x, y, z;

    __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    __host__ __device__ constexpr dim3(const uint3 &from) : x(from.x), y(from.y), z(from.z) {}
    __host__ __device__ constexpr operator uint3() const { return {x, y, z}; }
};
