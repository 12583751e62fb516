#include <sqlite3.h>

// Swift can't call functions with a variable number of arguments, nor pass SQLITE_TRANSIENT.

/// Lets no statement or schema change what a connection may do.
static inline int csqlite_harden(sqlite3 *database) {
    int code = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    if (code == SQLITE_OK) code = sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
    return code;
}

/// Binds a copy of some bytes.
static inline int csqlite_bind_bytes(sqlite3_stmt *statement, int place, const void *bytes, int count) {
    if (count == 0) return sqlite3_bind_zeroblob(statement, place, 0);
    return sqlite3_bind_blob(statement, place, bytes, count, SQLITE_TRANSIENT);
}
