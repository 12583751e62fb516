"""All sizes, numbers and times of the protocol, as in limits.md. Times are whole microseconds."""

MS = 1_000
S = 1_000_000

# Sizes, in bytes
MAX_DATAGRAM = 1_200                # W-13
SEALED_EXTRA = 25                   # W-19: header and tag of a sealed datagram
MAX_RECORD_TEXT = 1_163             # W-28, M-9
MAX_MESSAGE = 65_536                # M-1
MAX_NAME = 64                       # W-29
MAX_CHAT_NAME = 64                  # W-2
MAX_ID = 64
MAX_SUBSCRIBED = 32
FRONT_ENDS = 64
WAITING, WAITING_OF_ONE = 500, 125  # A-22, in a chat
WAITING_TEXT = 1 << 20
WAITING_TEXT_OF_ONE = 1 << 18
PRIVATE_NAMES, OPEN_NAMES = 1_024, 256
WAITING_EXTRA = 256
MAX_BACKLOG = 2 << 20
MAX_QUEUED_TEXT = 4 * 1024 * 1024   # M-14
QUEUED_MESSAGE_EXTRA = 256          # M-14
MAX_HELD_TEXT = 8 * 1024 * 1024     # M-20
HELD_TEXT_EXTRA = 256               # M-20
RESERVED = MAX_MESSAGE + HELD_TEXT_EXTRA  # M-20

# Counters
LAST_COUNTER = 2**32 - 3            # W-20
FORBIDDEN_COUNTER = 2**32 - 2       # W-20
LAST_WILL_COUNTER = 2**32 - 1       # W-21
REKEY_COUNTER = 2**31               # L-37
REPLAY_WINDOW = 1_024               # W-22

# Numbers
MAX_CHATS = 32                      # L-39
MAX_LINKS = 1_024                   # L-39, L-52
LINKS_PER_SOURCE = 64               # L-53
LINKS_OF_OTHER_USERS = 256          # L-53, L-10
LINKS_PER_KEY = 8                   # L-53, in a chat
OLDER_SESSIONS = 3                  # L-21
NAMED_STREAMS = 8                   # M-7
GIVEN_UP_STREAMS = 8                # M-7
PONGS_AWAITED = 32                  # L-28
BYTES_BACK = 3                      # L-51, for each byte that came
CAUGHT_UP = 4_096                   # L-30
PENDING_INITIATIONS = 64            # L-6
PENDING_TO_STRANGERS = 48           # L-6
INITIATIONS_SENT = 200              # L-6, in a second
INITIATIONS_TO_STRANGERS = 150      # L-6, in a second
DESTINATION_RATE, DESTINATION_BURST = 4, 40     # L-54
DESTINATION_KEPT = 10               # L-54
DESTINATIONS = 1_024                # L-54
UNCONFIRMED_TURNS = 3               # L-55
RESPONSES_OPENED = 4                # L-49, for each transmission and address
STRAY_RESPONSES = 20                # L-49, in a second
LOAD_INITIATIONS = 100              # L-9, in a second
LOAD_UNCONFIRMED = 64               # L-9
RETRIES, RETRIES_TO_KNOWN = 500, 200            # L-9, in a second
OPENED_OF_UNKNOWN = 200             # L-10, in a second
ANSWERS = 200                       # L-10, in a second
ANSWERS_TO_UNPREFERRED = 150        # L-10, without the quarter that is kept for preferred persons
ANSWERS_TO_UNKNOWN = 100            # L-10, without the half that is kept for known addresses
COOKIE_RATE, COOKIE_BURST = 5, 20   # L-10
COOKIE_SOURCES = 1_024              # L-10
UNCONFIRMED_SESSIONS = 128          # L-12
LINK_RATE, LINK_BURST = 500, 1_000  # L-25
HELLO_ANSWERS = 12                  # L-17
ASKS_ANSWERED = 64                  # D-13, in a second
ASKS_OF_UNKNOWN_ANSWERED = 32       # D-13, in a second
START_RATE, START_BURST = 10, 10    # T-16
LIST_RATE, LIST_BURST = 20, 20      # T-22
REPEATED_RATE, REPEATED_BURST = 20, 20          # T-22
WINDOW = 16                         # M-10, M-16
LOSS_EVIDENCE = 3                   # M-12
RECORD_RATE, RECORD_BURST = 400, 64             # M-13, a link
ALL_RECORD_RATE, ALL_RECORD_BURST = 2_000, 128  # M-13, the node
RECORDS_BETWEEN_READS = 64          # M-13
SILENT_LINKS_TRIED = 64             # L-35

# Times
TYPING_EXPIRY = 3_000 * MS          # T-15
TYPING_IDLE_STOP = 2_900 * MS       # T-9
TYPING_START_INTERVAL = 500 * MS    # T-5
TYPING_HEARTBEAT = 500 * MS         # T-8
COPIES = (30 * MS, 120 * MS)        # T-6, L-32
IDLE_INTERVAL = 1 * S               # T-11
IDLE_LINKS = 50                     # T-11
IDLE_JITTER = 0.75                  # T-11, the shortest part of an interval
INTERVAL_UNIT = 100 * MS            # T-11
MIN_INTERVAL_UNITS = 10             # T-12
PINGS = 10                          # L-26
PING_STEP = 125 * MS                # L-26
PINGS_SPENT_UNHEARD = 5             # L-45
AWAITED = 3 * S                     # L-28, L-51
CHECK_STEP = 125 * MS               # L-51
CHECK_PAUSE = 1 * S                 # L-51
CHANGE_PING_STEP = 1 * S            # L-40
LOOKING = 3_000 * MS
LATE = 500 * MS                     # L-30
OWN_TIMER = 1 * S                   # L-46
LARGER_KEY_DELAY = 300 * MS         # L-1
ATTEMPT_STEPS = (300 * MS, 300 * MS, 600 * MS, 1_200 * MS)  # L-4, from one transmission to the next
ATTEMPT = 3 * S                     # L-4
PAUSES = (0, 1_250 * MS, 2_500 * MS)                        # L-5
ASK_STEPS = (300 * MS, 600 * MS, 1_200 * MS, 2_400 * MS)    # D-11
ASK_INTERVAL = 5 * S                # D-11
OWN_ASK_INTERVAL = 60 * S           # D-14
JITTER = 0.25                       # L-4, L-5, D-11
FAST_OPENING = 90 * S               # L-5
SLOW_OPENING = 60 * S               # L-5
WAIT_TRANSMISSION = 50 * MS         # L-6
WAIT_ATTEMPT = 250 * MS             # L-6
WAIT_GAVE_WAY = 1 * S               # L-6
SILENT_LINK_AGE = 10 * S            # L-35
SILENT_LINK_TRIED = 90 * S          # L-35
AFTER_BYE_FOUND = 60 * S            # L-35
AFTER_BYE_BY_HAND = 5 * S           # L-35
HELLO_INTERVAL = 250 * MS           # L-16
HELLO_ANSWER_INTERVAL = 200 * MS    # L-17, L-43
HELLO_ANSWER_SLOW = 1 * S           # L-17
HELLO_TIMEOUT = 3 * S               # L-19
RENAME_INTERVAL = 1 * S             # L-57
GRACE = 5 * S
READER_PATIENCE = 10 * S
RETAKE_WITHOUT_HELLO = 300 * MS     # L-43
UNCONFIRMED = 5 * S                 # L-12
CROSSING = 5 * S                    # L-21
SUPERSEDED = 10 * S                 # L-21
REKEY_INITIATOR = 60 * 60 * S       # L-37
REKEY_RESPONDER = 61 * 60 * S       # L-37
REKEY_REPEAT = 60 * S               # L-37
SESSION_LIFETIME = 2 * 3_600 * S    # L-38
LATE_REOPENING = 1_250 * MS         # L-42, beyond 1.75 own intervals
COOKIE_SECRET = 120 * S             # L-11
REPEATED_WITHIN = 1 * S             # T-22
STALLED = 30 * S                    # M-19
LONGEST_DELIVERY = 60 * S           # M-19
OVERDUE = 5 * S                     # M-14
REASSEMBLY_PAUSE = 35 * S           # M-20
LONGEST_REASSEMBLY = 65 * S         # M-20
READ_WAIT = 1 * MS                  # M-13
RTO_INITIAL, RTO_MIN, RTO_MAX = 500 * MS, 200 * MS, 1_000 * MS  # M-11


def suspicion(interval: int) -> int:
    """L-26, L-43: 1.75 times an announced interval."""
    return interval * 7 // 4
