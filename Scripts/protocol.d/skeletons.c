// Prints the skeletons of Unicode UTS 39 that ICU has, as the Swift source of a table; see Scripts/protocol.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uspoof.h>
#include <unicode/ustring.h>
#include <unicode/uversion.h>

enum { most_units = 64, columns = 112 };

struct entry {
    UChar target[most_units];
    UChar32 source;
};

static struct entry entries[0x110000];
static int count;
static int column;

static void check(UErrorCode error, const char *what) {
    if (U_SUCCESS(error)) return;
    fprintf(stderr, "skeletons: %s: %s\n", what, u_errorName(error));
    exit(1);
}

// Whether a normal form changes a code point. The program applies both forms before it uses the table.
static int is_changed(const UNormalizer2 *form, const UChar *text, int length) {
    UErrorCode error = U_ZERO_ERROR;
    UBool same = unorm2_isNormalized(form, text, length, &error);
    check(error, "unorm2_isNormalized");
    return !same;
}

static int by_target(const void *left, const void *right) {
    const struct entry *one = left, *other = right;
    int order = u_strCompare(one->target, -1, other->target, -1, 1);
    return order ? order : (one->source > other->source) - (one->source < other->source);
}

static void put(const char *word) {
    int length = (int)strlen(word);
    if (column && column + 1 + length > columns) {
        printf("\n        ");
        column = 0;
    }
    column += printf("%s%s", column ? " " : "", word);
}

static void put_target(const UChar *target) {
    char word[most_units * 8] = "";
    char *end = word;
    for (int index = 0; target[index];) {
        UChar32 scalar;
        U16_NEXT_UNSAFE(target, index, scalar);
        end += sprintf(end, "%s%X", end == word ? "" : "+", (unsigned)scalar);
    }
    strcpy(end, "=");
    put(word);
}

int main(void) {
    UErrorCode error = U_ZERO_ERROR;
    USpoofChecker *checker = uspoof_open(&error);
    check(error, "uspoof_open");
    const UNormalizer2 *canonical = unorm2_getNFDInstance(&error);
    const UNormalizer2 *compatible = unorm2_getNFKCInstance(&error);
    check(error, "unorm2_getNFKCInstance");
    for (UChar32 scalar = 0; scalar <= 0x10FFFF; ++scalar) {
        if (scalar >= 0xD800 && scalar <= 0xDFFF) continue;
        UChar source[2];
        int length = 0;
        U16_APPEND_UNSAFE(source, length, scalar);
        struct entry *entry = &entries[count];
        int target_length = uspoof_getSkeleton(checker, 0, source, length, entry->target, most_units - 1, &error);
        check(error, "uspoof_getSkeleton");
        entry->target[target_length] = 0;
        entry->source = scalar;
        if (u_hasBinaryProperty(scalar, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)) continue;
        if (is_changed(canonical, source, length) || is_changed(compatible, source, length)) continue;
        if (target_length != length || memcmp(source, entry->target, sizeof(UChar) * (size_t)length)) ++count;
    }
    qsort(entries, (size_t)count, sizeof entries[0], by_target);

    UVersionInfo unicode;
    char version[U_MAX_VERSION_STRING_LENGTH];
    u_getUnicodeVersion(unicode);
    u_versionToString(unicode, version);
    printf("// Made by Scripts/protocol confusables from ICU %s (uspoof_getSkeleton, every code point), Unicode %s.\n",
           U_ICU_VERSION, version);
    printf("// Data: https://www.unicode.org/Public/security/, under the Unicode License. Do not edit.\n\n");
    printf("extension Skeleton {\n");
    printf("    /// %d code points by the text that they can be taken for (UTS 39), in hexadecimal: `TARGET= SOURCE ...`.\n",
           count);
    printf("    /// Code points that NFKC or NFD changes are not listed.\n");
    printf("    static let confusables: StaticString = \"\"\"\n        ");
    for (int index = 0; index < count; ++index) {
        if (!index || u_strcmp(entries[index].target, entries[index - 1].target)) put_target(entries[index].target);
        char word[16];
        sprintf(word, "%X", (unsigned)entries[index].source);
        put(word);
    }
    printf("\n        \"\"\"\n}\n");
    uspoof_close(checker);
    return 0;
}
