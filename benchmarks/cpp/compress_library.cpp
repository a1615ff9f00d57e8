// SPDX-License-Identifier: Apache-2.0
// The compression libraries themselves on chunks one after the other, into memory that is there already: what the
// benchmark of compression measures tricodec against. benchmarks/compress/library.py compiles and loads it.
#include <dlfcn.h>
#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <lz4.h>
#include <snappy-c.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

/// One library's two calls with the memory they need. Both return 0 where they fail.
class Library {
public:
    Library() = default;
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    virtual ~Library() = default;
    virtual std::size_t compress(const char* input, std::size_t size, char* output, std::size_t room) = 0;
    virtual std::size_t decompress(const char* input, std::size_t size, char* output, std::size_t room) = 0;
};

template <class Function>
Function* symbol(void* library, const char* name) {
    return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

/// A function of a library, by its declaration in the header: whichever build of the library is opened.
#define OF(library, function) symbol<decltype(function)>(library, #function)

class Lz4 final : public Library {
public:
    explicit Lz4(void* library)
        : compress_(OF(library, LZ4_compress_default)), decompress_(OF(library, LZ4_decompress_safe)) {}
    [[nodiscard]] bool usable() const { return compress_ != nullptr && decompress_ != nullptr; }

private:
    std::size_t compress(const char* input, std::size_t size, char* output, std::size_t room) override {
        return static_cast<std::size_t>(compress_(input, output, static_cast<int>(size), static_cast<int>(room)));
    }
    std::size_t decompress(const char* input, std::size_t size, char* output, std::size_t room) override {
        const int made = decompress_(input, output, static_cast<int>(size), static_cast<int>(room));
        return made < 0 ? 0 : static_cast<std::size_t>(made);
    }
    decltype(&LZ4_compress_default) compress_;
    decltype(&LZ4_decompress_safe) decompress_;
};

class Snappy final : public Library {
public:
    explicit Snappy(void* library)
        : compress_(OF(library, snappy_compress)), decompress_(OF(library, snappy_uncompress)) {}
    [[nodiscard]] bool usable() const { return compress_ != nullptr && decompress_ != nullptr; }

private:
    std::size_t compress(const char* input, std::size_t size, char* output, std::size_t room) override {
        return compress_(input, size, output, &room) == SNAPPY_OK ? room : 0;
    }
    std::size_t decompress(const char* input, std::size_t size, char* output, std::size_t room) override {
        return decompress_(input, size, output, &room) == SNAPPY_OK ? room : 0;
    }
    decltype(&snappy_compress) compress_;
    decltype(&snappy_uncompress) decompress_;
};

class Zstd final : public Library {
public:
    Zstd(void* library, int level)
        : level_(level),
          compress_(OF(library, ZSTD_compressCCtx)),
          decompress_(OF(library, ZSTD_decompressDCtx)),
          failed_(OF(library, ZSTD_isError)) {
        const auto make_compressor = OF(library, ZSTD_createCCtx);
        const auto make_decompressor = OF(library, ZSTD_createDCtx);
        if (make_compressor == nullptr || make_decompressor == nullptr) return;
        compressor_ = make_compressor();
        decompressor_ = make_decompressor();
    }
    [[nodiscard]] bool usable() const { return compressor_ != nullptr && decompressor_ != nullptr; }

private:
    std::size_t compress(const char* input, std::size_t size, char* output, std::size_t room) override {
        const std::size_t made = compress_(compressor_, output, room, input, size, level_);
        return failed_(made) != 0 ? 0 : made;
    }
    std::size_t decompress(const char* input, std::size_t size, char* output, std::size_t room) override {
        const std::size_t made = decompress_(decompressor_, output, room, input, size);
        return failed_(made) != 0 ? 0 : made;
    }
    int level_;
    decltype(&ZSTD_compressCCtx) compress_;
    decltype(&ZSTD_decompressDCtx) decompress_;
    decltype(&ZSTD_isError) failed_;
    ZSTD_CCtx* compressor_ = nullptr;
    ZSTD_DCtx* decompressor_ = nullptr;
};

class Deflate : public Library {
public:
    Deflate(void* library, int level, bool gzip)
        : gzip_(gzip),
          compress_(gzip ? OF(library, libdeflate_gzip_compress) : OF(library, libdeflate_deflate_compress)),
          decompress_(gzip ? OF(library, libdeflate_gzip_decompress) : OF(library, libdeflate_deflate_decompress)) {
        const auto make_compressor = OF(library, libdeflate_alloc_compressor);
        const auto make_decompressor = OF(library, libdeflate_alloc_decompressor);
        if (make_compressor == nullptr || make_decompressor == nullptr) return;
        compressor_ = make_compressor(level);
        decompressor_ = make_decompressor();
    }
    [[nodiscard]] bool usable() const { return compressor_ != nullptr && decompressor_ != nullptr; }

protected:
    std::size_t compress(const char* input, std::size_t size, char* output, std::size_t room) override {
        return compress_(compressor_, input, size, output, room);
    }
    std::size_t decompress(const char* input, std::size_t size, char* output, std::size_t room) override {
        return decompress_(decompressor_, input, size, output, room, nullptr) == LIBDEFLATE_SUCCESS ? room : 0;
    }
    bool gzip_;

private:
    decltype(&libdeflate_deflate_compress) compress_;
    decltype(&libdeflate_deflate_decompress) decompress_;
    libdeflate_compressor* compressor_ = nullptr;
    libdeflate_decompressor* decompressor_ = nullptr;
};

/// ISA-L compresses, libdeflate, which is the faster one at that, decompresses.
class Isal final : public Deflate {
public:
    Isal(void* library, int level, bool gzip)
        : Deflate(dlopen("libdeflate.so.0", RTLD_NOW | RTLD_LOCAL), 1, gzip),
          level_(level),
          init_(OF(library, isal_deflate_stateless_init)),
          deflate_(OF(library, isal_deflate_stateless)),
          buffer_(level == 1 ? ISAL_DEF_LVL1_DEFAULT : ISAL_DEF_LVL3_DEFAULT) {}
    [[nodiscard]] bool usable() const { return Deflate::usable() && init_ != nullptr && deflate_ != nullptr; }

private:
    std::size_t compress(const char* input, std::size_t size, char* output, std::size_t room) override {
        init_(&stream_);
        stream_.level = static_cast<std::uint32_t>(level_);
        stream_.level_buf = buffer_.data();
        stream_.level_buf_size = static_cast<std::uint32_t>(buffer_.size());
        stream_.gzip_flag = gzip_ ? IGZIP_GZIP : IGZIP_DEFLATE;
        stream_.end_of_stream = 1;
        stream_.flush = NO_FLUSH;
        stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(input));
        stream_.avail_in = static_cast<std::uint32_t>(size);
        stream_.next_out = reinterpret_cast<std::uint8_t*>(output);
        stream_.avail_out = static_cast<std::uint32_t>(room);
        return deflate_(&stream_) == COMP_OK ? stream_.total_out : 0;
    }
    int level_;
    decltype(&isal_deflate_stateless_init) init_;
    decltype(&isal_deflate_stateless) deflate_;
    std::vector<std::uint8_t> buffer_;
    isal_zstream stream_{};
};

/// NVIDIA's own GDeflate for CPUs, in libnvcomp_cpu.so.5: a fork of libdeflate.
class GDeflate final : public Library {
public:
    GDeflate(const std::string& folder, int level)
        : library_(dlopen((folder + "/libnvcomp_cpu.so.5").c_str(), RTLD_NOW | RTLD_LOCAL)) {
        const auto make = symbol<void*(int)>(library_, "libdeflate_alloc_gdeflate_compressor");
        const auto make_decompressor = symbol<void*()>(library_, "libdeflate_alloc_gdeflate_decompressor");
        compress_ = symbol<std::size_t(void*, const void*, std::size_t, Page*, std::size_t)>(
            library_, "libdeflate_gdeflate_compress");
        decompress_ = symbol<int(void*, Page*, std::size_t, void*, std::size_t, std::size_t*)>(
            library_, "libdeflate_gdeflate_decompress");
        if (make == nullptr || make_decompressor == nullptr) return;
        compressor_ = make(level);
        decompressor_ = make_decompressor();
    }
    [[nodiscard]] bool usable() const {
        return compressor_ != nullptr && decompressor_ != nullptr && compress_ != nullptr && decompress_ != nullptr;
    }

private:
    struct Page {
        void* data;
        std::size_t size;
    };
    std::size_t compress(const char* input, std::size_t size, char* output, std::size_t room) override {
        Page page{output, room};
        return compress_(compressor_, input, size, &page, 1);
    }
    std::size_t decompress(const char* input, std::size_t size, char* output, std::size_t room) override {
        Page page{const_cast<char*>(input), size};
        std::size_t made = 0;
        return decompress_(decompressor_, &page, 1, output, room, &made) == 0 ? made : 0;
    }
    void* library_;
    void* compressor_ = nullptr;
    void* decompressor_ = nullptr;
    std::size_t (*compress_)(void*, const void*, std::size_t, Page*, std::size_t) = nullptr;
    int (*decompress_)(void*, Page*, std::size_t, void*, std::size_t, std::size_t*) = nullptr;
};

/// Bitcomp's host functions, in libnvcomp.so.5; signed 32-bit integers, as data_type "<i4" are.
class Bitcomp final : public Library {
public:
    explicit Bitcomp(const std::string& folder)
        : library_(dlopen((folder + "/libnvcomp.so.5").c_str(), RTLD_NOW | RTLD_LOCAL)),
          make_plan_(symbol<int(void**, std::size_t, int, int, int)>(library_, "bitcompCreatePlan")),
          drop_plan_(symbol<int(void*)>(library_, "bitcompDestroyPlan")),
          compress_(symbol<int(void*, const void*, void*)>(library_, "bitcompHostCompressLossless")),
          decompress_(symbol<int(void*, const void*, void*)>(library_, "bitcompHostUncompress")),
          compressed_size_(symbol<int(const void*, std::size_t*)>(library_, "bitcompGetCompressedSize")) {}
    ~Bitcomp() override {
        if (plan_ != nullptr) drop_plan_(plan_);
    }
    [[nodiscard]] bool usable() const {
        return make_plan_ != nullptr && drop_plan_ != nullptr && compress_ != nullptr && decompress_ != nullptr &&
               compressed_size_ != nullptr;
    }

private:
    void plan_for(std::size_t size) {
        if (plan_ != nullptr && size == planned_) return;
        if (plan_ != nullptr) drop_plan_(plan_);
        make_plan_(&plan_, size, 5, 0, 0);
        planned_ = size;
    }
    std::size_t compress(const char* input, std::size_t size, char* output, std::size_t) override {
        plan_for(size);
        std::size_t made = 0;
        return compress_(plan_, input, output) == 0 && compressed_size_(output, &made) == 0 ? made : 0;
    }
    std::size_t decompress(const char* input, std::size_t, char* output, std::size_t room) override {
        plan_for(room);
        return decompress_(plan_, input, output) == 0 ? room : 0;
    }
    void* library_;
    int (*make_plan_)(void**, std::size_t, int, int, int);
    int (*drop_plan_)(void*);
    int (*compress_)(void*, const void*, void*);
    int (*decompress_)(void*, const void*, void*);
    int (*compressed_size_)(const void*, std::size_t*);
    void* plan_ = nullptr;
    std::size_t planned_ = 0;
};

template <class T, class... Arguments>
std::unique_ptr<Library> if_usable(Arguments&&... arguments) {
    auto library = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    if (!library->usable()) return nullptr;
    return library;
}

std::unique_ptr<Library> make(const std::string& name, int level, const std::string& nvcomp) {
    const auto open = [](const char* installed) { return dlopen(installed, RTLD_LAZY | RTLD_LOCAL); };
    if (name == "LZ4") return if_usable<Lz4>(open("liblz4.so.1"));
    if (name == "Snappy") return if_usable<Snappy>(open("libsnappy.so.1"));
    if (name == "Zstd") return if_usable<Zstd>(open("libzstd.so.1"), level);
    if (name == "ISA-L") return if_usable<Isal>(open("libisal.so.2"), level, false);
    if (name == "ISA-L gzip") return if_usable<Isal>(open("libisal.so.2"), level, true);
    if (name == "libdeflate") return if_usable<Deflate>(open("libdeflate.so.0"), level, false);
    if (name == "libdeflate gzip") return if_usable<Deflate>(open("libdeflate.so.0"), level, true);
    if (name == "GDeflate") return if_usable<GDeflate>(nvcomp, level);
    if (name == "Bitcomp") return if_usable<Bitcomp>(nvcomp);
    return nullptr;
}

}  // namespace

extern "C" {

/// Null where there is no such library. For one thread at a time.
void* library_make(const char* name, int level, const char* nvcomp_folder) {
    return make(name, level, nvcomp_folder).release();
}

/// Compresses each chunk of `data` into a slot of its own. Returns 0 if one fails.
int library_compress(void* library, const char* data, std::size_t size, std::size_t chunk, char* slots,
                     std::size_t slot, std::size_t* sizes) {
    for (std::size_t i = 0; i * chunk < size; ++i) {
        const std::size_t part = size - i * chunk < chunk ? size - i * chunk : chunk;
        sizes[i] = static_cast<Library*>(library)->compress(data + i * chunk, part, slots + i * slot, slot);
        if (sizes[i] == 0) return 0;
    }
    return 1;
}

/// The chunks back to `data`.
int library_decompress(void* library, const char* slots, std::size_t slot, const std::size_t* sizes, std::size_t chunk,
                       char* data, std::size_t size) {
    for (std::size_t i = 0; i * chunk < size; ++i) {
        const std::size_t part = size - i * chunk < chunk ? size - i * chunk : chunk;
        if (static_cast<Library*>(library)->decompress(slots + i * slot, sizes[i], data + i * chunk, part) != part) {
            return 0;
        }
    }
    return 1;
}

}  // extern "C"
