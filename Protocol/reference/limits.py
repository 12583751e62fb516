"""All numbers of the protocol (limits.md), each with its clause. Times are whole microseconds, sizes are bytes."""

MS = 1_000
S = 1_000_000

# Wire
MAX_DATAGRAM = 1_200            # W-13
SEALED_EXTRA = 25               # W-19: header and tag
LAST_COUNTER = 2**32 - 3        # W-20, L-79
UNUSED_COUNTER = 2**32 - 2      # W-20
WILL_COUNTER = 2**32 - 1        # W-21
LAST_EPOCH = 2**32 - 1          # L-60
REPLAY_WINDOW = 1_024           # W-22
MAX_CHAT_NAME = 64              # W-2
MAX_NAME = 64                   # M-25
MAX_TXT_READ = 1_300            # D-5

# Links
MAX_CHATS, MAX_LINKS = 32, 1_024                # L-39
LINKS_PER_SOURCE, LINKS_OF_HOST = 64, 256       # L-53, L-78
LINKS_PER_KEY = 8                               # L-53
SESSIONS_PER_LINK = 4                           # L-77
REPLACEABLE_SESSION = 3 * S                     # L-77
UNCONFIRMED_SESSIONS, UNCONFIRMED = 128, 5 * S  # L-12
MAX_CANDIDATES, MAX_INSTANCES = 8, 4            # D-9
AMPLIFICATION = 3                               # L-72
CAUGHT_UP = 4_096                               # L-30
LINK_RATE, LINK_BURST = 1_000, 2_000            # L-25
SOURCE_RATE = 4_000                             # L-25
SUSPICION_PINGS, STRANGERS_PINGS = 1_000, 500   # L-76, a second
LEAST_PINGS = 3                                 # L-76, a link

PINGS, PINGS_SPENT_UNHEARD = 10, 5              # L-26, L-110
PING_STEP = 125 * MS                            # L-26, L-51, L-71
UNHEARD_PAUSE = 10 * S                          # L-110
AWAITED = 3 * S                                 # L-80, L-51
HINT_PAUSE = 1 * S                              # L-29, L-40
JOIN_STEP, JOIN_TIME = 250 * MS, 3 * S          # L-74, L-75
KEPT_SHOWN = 3 * S                              # L-103
DOWN_TIME = 60 * S                              # L-83
LEAST_UP = 10 * S                               # L-84
NAME_TIME = 10 * S                              # L-86
COPIES = (30 * MS, 120 * MS)                    # T-6, L-32, L-44
LATE, LONGEST_TIMER, STOPPED = 500 * MS, 1 * S, 3 * S       # L-30, L-46, L-42
REKEY, REKEY_SPREAD, REKEY_REPEAT = 3_600 * S, 1 / 12, 60 * S     # L-37
SILENT_SESSION, SESSION_LIFE = 60 * S, 7_200 * S         # L-38
SNAPSHOT_SIGN = 3 * S                           # L-93
REST, SHORT_REST = 60 * S, 5 * S                # L-35, L-106

# Openings
LARGER_KEY_WAIT = 300 * MS                                  # L-1
ATTEMPT_STEPS = (300 * MS, 300 * MS, 600 * MS, 1_200 * MS)  # L-4, from one transmission to the next
ATTEMPT = 3 * S                                             # L-4
PAUSES = (0, 1_250 * MS, 2_500 * MS)                        # L-5
FAST_PERIOD, SLOW_STEP = 90 * S, 60 * S                     # L-5
SPREAD = 0.25                                               # L-4, L-5, D-11
INITIATIONS, INITIATIONS_TO_STRANGERS = 200, 150            # L-6, a second
PENDING, PENDING_TO_STRANGERS = 64, 48                      # L-6
SILENT_RATE, SILENT_BURST, SILENT_KEPT = 4, 40, 10          # L-54
ADDRESSES = 1_024                                           # L-54
RESPONSES_OPENED, OTHER_RESPONSES = 4, 20                   # L-49
TRANSMISSION_WAIT, ATTEMPT_WAIT = 50 * MS, 250 * MS         # L-6, L-54: until a refused one is tried again
TARGETS_WAIT = 1 * S                                        # until an opening without targets looks for some again
ASK_STEP, OWN_ASK_STEP = 5 * S, 60 * S                      # D-11, D-14

# Admission
UNCHECKED = 1_000                               # L-8, a second
LOAD, LOAD_UNCONFIRMED = 100, 64                # L-9
RETRIES, RETRIES_TO_KNOWN = 500, 200            # L-96
ANSWERS, ANSWERS_UNPREFERRED, ANSWERS_UNKNOWN = 200, 150, 100   # L-10
COOKIE_RATE, COOKIE_BURST, COOKIE_BURST_OF_HOST = 5, 20, 256    # L-97
COOKIES_UNKNOWN, COOKIE_SOURCES = 200, 1_024    # L-97
COOKIE_KEY = 120 * S                            # L-11
ASKS_TRIED, ASKS_ANSWERED, ASKS_UNKNOWN = 500, 64, 32           # D-25

# Typing and presence
TYPING_EXPIRY, IDLE_STOP = 3_000 * MS, 2_900 * MS               # T-15, T-9
START_INTERVAL, TYPING_BEAT, LONGEST_TYPING_BEAT = 500 * MS, 500 * MS, 1_500 * MS   # T-5, T-8, T-23
TYPING_LINKS, IDLE_LINKS = 100, 50                              # T-23, T-24
INTERVAL_UNIT, LEAST_UNITS = 100 * MS, 10                       # T-12
START_RATE, START_BURST = 10, 10                                # T-16
LIST_RATE, LIST_BURST = 20, 20                                  # T-22, T-26
REPEATED_WITHIN = 1 * S                                         # T-26
MESSAGE_WAIT = 50 * MS                                          # T-27
NAME_STEP = 1 * S                                               # M-24

# Messages
MAX_MESSAGE, MAX_TEXT = 65_536, 1_167                           # M-1, W-28
AHEAD = 16                                                      # M-10, M-16
FIRST_WINDOW, MAX_WINDOW, LATER_RECORDS = 4, 16, 3              # M-34, M-12
RECORD_RATE, RECORD_BURST = 400, 64                             # M-13, a link
NODE_RECORD_RATE, NODE_RECORD_BURST, RECORDS_BETWEEN_READS = 2_000, 128, 64     # M-13
TIMERS_ON_LINK = (250 * MS, 200 * MS, 1 * S)                    # M-11: first, least, most
TIMERS_OFF_LINK = (1 * S, 1 * S, 60 * S)
GRANULARITY = 1 * MS                                            # M-11
MAX_QUEUE, MESSAGE_EXTRA, OVERDUE = 4 << 20, 256, 5 * S         # M-14, M-30
STALLED, UNFINISHED = 30 * S, 60 * S                            # M-19
MAX_INVITATIONS, MAX_STRANGERS_INVITATIONS = 10, 3              # M-48
MAX_REMOVED, MAX_NEWCOMERS, MAX_MOVE_KEYS = 32, 32, 1_024       # M-89, M-95, A-42
MAX_DEPARTED, DEPARTURE, SERVED = 8, 30 * 86_400 * S, 60 * S    # A-42, M-65, M-92
MOVE_STEP, MOVE_BURST = 10 * S, 8                               # M-88, of a chain
MAX_LEFT, MAX_LEFT_CHAINS = 64, 1_024                           # left chats of a chain; chains that the user left
POOL = 8 << 20                                                  # M-20, of texts and of unfinished messages
RESERVED = 65_792                                               # M-39
GIVE_UP_SILENT, GIVE_UP_BEGUN = 35 * S, 65 * S                  # M-43
