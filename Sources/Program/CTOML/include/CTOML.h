#ifndef CTOML_H
#define CTOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// TOML 1.0, read by toml++. No function throws, and none ends the program, whatever the text is.

#ifdef __cplusplus
extern "C" {
#endif

/// A document that was read, or why it could not be.
typedef struct ctoml_document ctoml_document;

/// A value in a document, valid for as long as that.
typedef struct ctoml_node ctoml_node;

typedef enum {
    CTOML_TABLE,
    CTOML_ARRAY,
    CTOML_STRING,
    CTOML_BOOLEAN,
    /// A number, a date or a time.
    CTOML_OTHER,
} ctoml_kind;

/// Bytes that are not followed by a NUL, valid for as long as their document.
typedef struct {
    const char *bytes;
    size_t count;
} ctoml_text;

/// Reads a text in UTF-8; free what it returns with `ctoml_free`. Null if memory is short.
ctoml_document *ctoml_read(const char *text, size_t count);

void ctoml_free(ctoml_document *document);

/// The table that the document is; null if it could not be read.
const ctoml_node *ctoml_root(const ctoml_document *document);

/// What is wrong with a document that could not be read. Lines and columns are counted from 1; 0 where it is unknown.
ctoml_text ctoml_error(const ctoml_document *document, uint32_t *line, uint32_t *column);

ctoml_kind ctoml_kind_of(const ctoml_node *node);

/// The text of a string; empty for all else.
ctoml_text ctoml_string(const ctoml_node *node);

/// The value of a Boolean; false for all else.
bool ctoml_boolean(const ctoml_node *node);

/// Calls `visit` for each value of a table, with its key, or of an array, in its order. Nothing for all else.
void ctoml_visit(
    const ctoml_node *node, void *context, void (*visit)(void *context, ctoml_text key, const ctoml_node *value));

#ifdef __cplusplus
}
#endif

#endif
