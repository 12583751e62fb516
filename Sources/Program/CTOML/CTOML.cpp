#include "CTOML.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// An assertion of the library that does not hold: some malformed values reach one.
struct broken_assertion : std::exception {};

[[noreturn]] void break_assertion() { throw broken_assertion(); }

} // namespace

// Without this, the library ends the program in debug builds, and in others takes for true what is not.
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? static_cast<void>(0) : ::break_assertion())
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

struct ctoml_document {
    toml::table root;
    bool is_read = false;
    std::string error;
    toml::source_position position = {};
};

namespace {

const toml::node &unwrapped(const ctoml_node *node) { return *reinterpret_cast<const toml::node *>(node); }

const ctoml_node *wrapped(const toml::node &node) { return reinterpret_cast<const ctoml_node *>(&node); }

ctoml_text text(std::string_view string) { return {string.data(), string.size()}; }

/// How many dots a text may have. The library frees what is nested by calling itself; it limits the depth of arrays and
/// inline tables, but not that of keys such as a.b.c, where each level takes some 125 bytes of the stack.
constexpr int maximum_dots = 4096;

/// The line of the first dot that is too many, counted from 1; 0 if there is none.
uint32_t line_of_dots(std::string_view text) {
    uint32_t line = 1;
    int dots = 0;
    for (const char character : text) {
        if (character == '\n') line++;
        if (character == '.' && ++dots > maximum_dots) return line;
    }
    return 0;
}

bool breaks_assertion(std::string_view text) {
    try {
        static_cast<void>(toml::parse(text));
    } catch (const toml::parse_error &) {
    } catch (const broken_assertion &) {
        return true;
    }
    return false;
}

/// The first line with which a text breaks an assertion, counted from 1. The library reads from the front, so that what
/// comes later has no part in it.
uint32_t broken_line(std::string_view text) {
    std::vector<size_t> ends;
    for (size_t end = 0; (end = text.find('\n', end)) != text.npos;) ends.push_back(++end);
    ends.push_back(text.size());
    const auto whole = [text](size_t end) { return breaks_assertion(text.substr(0, end)); };
    const auto first = std::partition_point(ends.begin(), ends.end(), [&](size_t end) { return !whole(end); });
    return static_cast<uint32_t>(first - ends.begin()) + 1;
}

} // namespace

ctoml_document *ctoml_read(const char *bytes, size_t count) {
    auto *document = new (std::nothrow) ctoml_document;
    if (!document) return nullptr;
    try {
        try {
            if (const auto line = line_of_dots({bytes, count})) {
                document->error = "there are too many dots";
                document->position.line = line;
                return document;
            }
            document->root = toml::parse(std::string_view(bytes, count));
            document->is_read = true;
        } catch (const toml::parse_error &error) {
            document->error = error.description();
            document->position = error.source().begin;
        } catch (const broken_assertion &) {
            document->error = "this can't be read";
            document->position.line = broken_line({bytes, count});
        }
    } catch (...) {
        delete document;
        return nullptr;
    }
    return document;
}

void ctoml_free(ctoml_document *document) { delete document; }

const ctoml_node *ctoml_root(const ctoml_document *document) {
    return document->is_read ? wrapped(document->root) : nullptr;
}

ctoml_text ctoml_error(const ctoml_document *document, uint32_t *line, uint32_t *column) {
    *line = document->position.line;
    *column = document->position.column;
    return text(document->error);
}

ctoml_kind ctoml_kind_of(const ctoml_node *node) {
    switch (unwrapped(node).type()) {
    case toml::node_type::table: return CTOML_TABLE;
    case toml::node_type::array: return CTOML_ARRAY;
    case toml::node_type::string: return CTOML_STRING;
    case toml::node_type::boolean: return CTOML_BOOLEAN;
    default: return CTOML_OTHER;
    }
}

ctoml_text ctoml_string(const ctoml_node *node) {
    const auto *string = unwrapped(node).as_string();
    return string ? text(string->get()) : text({});
}

bool ctoml_boolean(const ctoml_node *node) {
    const auto *boolean = unwrapped(node).as_boolean();
    return boolean && boolean->get();
}

void ctoml_visit(
    const ctoml_node *node, void *context, void (*visit)(void *context, ctoml_text key, const ctoml_node *value)) {
    if (const auto *table = unwrapped(node).as_table()) {
        for (const auto &[key, value] : *table) visit(context, text(key.str()), wrapped(value));
    } else if (const auto *array = unwrapped(node).as_array()) {
        for (const auto &value : *array) visit(context, text({}), wrapped(value));
    }
}
