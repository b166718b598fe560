#include "shapes.h"

#define MARK_TEXT (MARK_DIGITS + 2)
#define WEB_RESULTS 10

#define USAGE                                                                                                          \
    "\"usage\":{\"input_tokens\":2410,\"output_tokens\":96,\"total_tokens\":2506,\"input_tokens_details\":"            \
    "{\"cached_tokens\":900,\"cache_read_input_tokens\":900,\"cache_creation_input_tokens\":0},"                       \
    "\"output_tokens_details\":{\"reasoning_tokens\":0},\"tool_calls_details\":{\"search_web\":{\"invocation\":1,"     \
    "\"cost_usd\":0.0025}},\"cost\":{\"currency\":\"USD\",\"input_cost\":0.00001,\"output_cost\":0.00005,"             \
    "\"tool_calls_cost\":0.0025,\"total_cost\":0.00256}}"

#define RESULT(N)                                                                                                      \
    "{\"id\":" #N ",\"title\":\"Tide table " #N "\",\"url\":\"https://example.org/tides/" #N "\",\"snippet\":"         \
    "\"High water at ten past six, low water at twenty past twelve, and the range is a little over six metres.\","     \
    "\"date\":\"2026-11-0" #N "\",\"last_updated\":null,\"source\":\"web\"}"

#define SEARCH_ITEM                                                                                                    \
    "{\"type\":\"search_results\",\"queries\":[\"tide table\"],\"results\":[" RESULT(1) "," RESULT(2) "," RESULT(3) ","\
    RESULT(4) "," RESULT(5) "]}"

#define RESPONSE_HEAD                                                                                                  \
    "{\"id\":\"resp_0f7d3b52-8f0c-4a51-9a3e-1d2c3b4a5f60\",\"object\":\"response\",\"created_at\":1793000000,"         \
    "\"model\":\"%s\",\"status\":\"%s\",\"error\":null,\"incomplete_details\":null,"

#define MESSAGE_HEAD "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":\"%s\",\"content\":["

/* ---- HTTP ---- */

void write_json(struct buffer *out, int status, const char *text, size_t length)
{
    buffer_print(out, "HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n", status,
                 status == 200 ? "OK" : "Not Found", length);
    buffer_add(out, text, length);
}

static void write_stream_head(struct buffer *out)
{
    static const char head[] = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                               "cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
    buffer_add(out, head, sizeof head - 1);
}

/* One HTTP chunk around one event: the length is filled in when it is known. */
static size_t chunk_open(struct buffer *out)
{
    buffer_add(out, "00000000\r\n", 10);
    return out->length;
}

static void chunk_close(struct buffer *out, size_t start)
{
    char digits[9];
    snprintf(digits, sizeof digits, "%08zx", out->length - start);
    memcpy(out->data + start - 10, digits, 8);
    buffer_add(out, "\r\n", 2);
}

static void write_stream_end(struct buffer *out)
{
    buffer_add(out, "0\r\n\r\n", 5);
}

/* ---- marks ---- */

static void add_mark(struct run *run, int index)
{
    int64_t now = now_ns();
    if (index && run->marks[index - 1] >= now)
        now = run->marks[index - 1] + 1;
    run->marks[index] = now;
}

static void print_marks(const struct run *run, struct buffer *out, const char *between)
{
    for (int i = 0; i < run->total; i++)
        buffer_print(out, "%s" MARK_FORMAT, i ? between : "", (unsigned long long)run->marks[i]);
}

/* ---- the Agent API ---- */

static int sequence(const struct run *run)
{
    return run->next + 3;
}

static void agent_opening(struct run *run, struct buffer *out)
{
    static const char *const kinds[] = {"response.created", "response.in_progress"};
    for (int i = 0; i < 2; i++) {
        size_t start = chunk_open(out);
        buffer_print(out, "data: {\"type\":\"%s\",\"sequence_number\":%d,\"response\":" RESPONSE_HEAD "\"output\":[]}}\n\n",
                     kinds[i], i, run->model, "in_progress");
        chunk_close(out, start);
    }
    size_t start = chunk_open(out);
    buffer_print(out, "data: {\"type\":\"response.output_item.done\",\"sequence_number\":2,\"output_index\":0,\"item\":"
                      SEARCH_ITEM "}\n\n");
    buffer_print(out, "data: {\"type\":\"response.output_item.added\",\"sequence_number\":3,\"output_index\":1,\"item\":"
                      MESSAGE_HEAD "]}}\n\n", "in_progress");
    chunk_close(out, start);
}

static void agent_text(struct run *run, struct buffer *out)
{
    size_t start = chunk_open(out);
    buffer_print(out, "data: {\"type\":\"response.output_text.delta\",\"sequence_number\":%d,\"item_id\":\"msg_1\","
                      "\"output_index\":1,\"content_index\":0,\"delta\":\"" MARK_FORMAT "\"}\n\n",
                 sequence(run), (unsigned long long)run->marks[run->next - 1]);
    chunk_close(out, start);
}

static void agent_message(struct run *run, struct buffer *out)
{
    buffer_print(out, MESSAGE_HEAD "{\"type\":\"output_text\",\"annotations\":[],\"text\":\"", "completed");
    print_marks(run, out, "");
    buffer_print(out, "\"}]}");
}

static void agent_ending(struct run *run, struct buffer *out)
{
    size_t start = chunk_open(out);
    buffer_print(out, "data: {\"type\":\"response.output_text.done\",\"sequence_number\":%d,\"item_id\":\"msg_1\","
                      "\"output_index\":1,\"content_index\":0,\"text\":\"", sequence(run));
    print_marks(run, out, "");
    buffer_print(out, "\"}\n\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":%d,\"output_index\":1,"
                      "\"item\":", sequence(run) + 1);
    agent_message(run, out);
    buffer_print(out, "}\n\ndata: {\"type\":\"response.completed\",\"sequence_number\":%d,\"response\":" RESPONSE_HEAD
                      "\"output\":[" SEARCH_ITEM ",", sequence(run) + 2, run->model, "completed");
    agent_message(run, out);
    buffer_print(out, "]," USAGE "}}\n\n");
    chunk_close(out, start);
}

static void agent_whole(struct run *run, struct buffer *text)
{
    buffer_print(text, RESPONSE_HEAD "\"output\":[" SEARCH_ITEM ",", run->model, "completed");
    agent_message(run, text);
    buffer_print(text, "]," USAGE "}");
}

/* ---- chat completions ---- */

#define CHAT_HEAD                                                                                                      \
    "{\"id\":\"chatcmpl-0f7d3b528f0c4a519a3e\",\"object\":\"%s\",\"created\":1793000000,\"model\":\"%s\","
#define CHAT_USAGE "\"usage\":{\"prompt_tokens\":2410,\"completion_tokens\":96,\"total_tokens\":2506}"
#define CHAT_RESULTS "\"search_results\":[" RESULT(1) "," RESULT(2) "," RESULT(3) "," RESULT(4) "," RESULT(5) "]"

static void chat_chunk(struct run *run, struct buffer *out, const char *delta, const char *finish)
{
    size_t start = chunk_open(out);
    buffer_print(out, "data: " CHAT_HEAD "\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n",
                 "chat.completion.chunk", run->model, delta, finish);
    chunk_close(out, start);
}

static void chat_opening(struct run *run, struct buffer *out)
{
    chat_chunk(run, out, "{\"role\":\"assistant\",\"content\":\"\"}", "null");
}

static void chat_text(struct run *run, struct buffer *out)
{
    char delta[MARK_TEXT + 32];
    snprintf(delta, sizeof delta, "{\"content\":\"" MARK_FORMAT "\"}", (unsigned long long)run->marks[run->next - 1]);
    chat_chunk(run, out, delta, "null");
}

static void chat_ending(struct run *run, struct buffer *out)
{
    chat_chunk(run, out, "{}", "\"stop\"");
    size_t start = chunk_open(out);
    buffer_print(out, "data: " CHAT_HEAD CHAT_RESULTS "," CHAT_USAGE ",\"choices\":[]}\n\ndata: [DONE]\n\n",
                 "chat.completion.chunk", run->model);
    chunk_close(out, start);
}

static void chat_whole(struct run *run, struct buffer *text)
{
    buffer_print(text, CHAT_HEAD CHAT_RESULTS "," CHAT_USAGE ",\"choices\":[{\"index\":0,\"message\":{\"role\":"
                       "\"assistant\",\"content\":\"", "chat.completion", run->model);
    print_marks(run, text, "");
    buffer_print(text, "\"},\"finish_reason\":\"stop\"}]}");
}

/* ---- the web session ---- */

static void session_head(struct buffer *out, const char *status)
{
    buffer_print(out, "event: message\r\ndata: {\"backend_uuid\":\"5b0f1c1e-0000-4000-8000-0000000000e1\",\"context_uuid\":"
                      "\"5b0f1c1e-0000-4000-8000-0000000000c1\",\"uuid\":\"5b0f1c1e-0000-4000-8000-0000000000e1\","
                      "\"status\":\"%s\",", status);
}

static void session_results(struct buffer *out, int count)
{
    buffer_print(out, "{\"intended_usage\":\"web_results\",\"web_result_block\":{\"progress\":\"DONE\",\"web_results\":[");
    for (int i = 1; i <= count; i++)
        buffer_print(out, "%s{\"name\":\"Tide table %d\",\"url\":\"https://example.org/tides/%d\",\"snippet\":\"High water at ten "
                          "past six in the morning and again at half past six in the evening, low water at twenty past "
                          "twelve; the range is a little over six metres, which is more than most ports of that coast see, "
                          "and the stream turns about an hour before high water, so plan to leave the harbour in time.\","
                          "\"timestamp\":\"2026-11-01T00:00:00\",\"meta_data\":{\"client\":\"web\",\"published\":null},"
                          "\"is_attachment\":false,\"is_image\":false}", i > 1 ? "," : "", i, i);
    buffer_print(out, "]}}");
}

static void session_text(struct run *run, struct buffer *out)
{
    int index = run->next - 1;
    unsigned long long mark = (unsigned long long)run->marks[index];
    size_t start = chunk_open(out);
    session_head(out, "PENDING");
    buffer_print(out, "\"final\":false,\"message_mode\":\"STREAMING\",\"display_model\":\"%s\",\"blocks\":[", run->model);
    static const char *const usages[] = {"ask_text_0_markdown", "ask_text"};
    for (int i = 0; i < 2; i++)
        buffer_print(out, "{\"intended_usage\":\"%s\",\"markdown_block\":{\"progress\":\"IN_PROGRESS\",\"chunks\":[\"" MARK_FORMAT
                          "\"],\"chunk_starting_offset\":%d}},", usages[i], mark, index);
    session_results(out, WEB_RESULTS / 2 + index % (WEB_RESULTS / 2 + 1));
    buffer_print(out, "]}\r\n\r\n");
    chunk_close(out, start);
}

static void session_opening(struct run *run, struct buffer *out)
{
    size_t start = chunk_open(out);
    session_head(out, "PENDING");
    buffer_print(out, "\"final\":false,\"message_mode\":\"STREAMING\",\"display_model\":\"%s\",\"blocks\":[{\"intended_usage\":"
                      "\"pro_search_steps\",\"plan_block\":{\"progress\":\"IN_PROGRESS\",\"final\":false,\"steps\":[{\"uuid\":"
                      "\"s0\",\"step_type\":\"INITIAL_QUERY\",\"initial_query_content\":{\"query\":\"tides\"}}]}}]}\r\n\r\n",
                 run->model);
    chunk_close(out, start);
}

static void session_ending(struct run *run, struct buffer *out)
{
    size_t start = chunk_open(out);
    session_head(out, "COMPLETED");
    buffer_print(out, "\"read_write_token\":\"demo\",\"final\":true,\"final_sse_message\":true,\"text_completed\":true,"
                      "\"message_mode\":\"FULL\",\"step_type\":\"FINAL\",\"display_model\":\"%s\",\"user_selected_model\":\"%s\","
                      "\"blocks\":[{\"intended_usage\":\"ask_text\",\"markdown_block\":{\"progress\":\"DONE\",\"chunks\":[\"",
                 run->model, run->model);
    print_marks(run, out, "\",\"");
    buffer_print(out, "\"],\"chunk_starting_offset\":0,\"answer\":\"");
    print_marks(run, out, "");
    buffer_print(out, "\"}},");
    session_results(out, WEB_RESULTS);
    buffer_print(out, "]}\r\n\r\nevent: end_of_stream\r\ndata: {}\r\n\r\n");
    chunk_close(out, start);
}

/* ---- runs ---- */

static const struct phases {
    int usual_total;
    const char *model_field, *model_otherwise;
    void (*opening)(struct run *, struct buffer *), (*text)(struct run *, struct buffer *), (*ending)(struct run *, struct buffer *);
    void (*whole)(struct run *, struct buffer *);
} phases[] = {
    [AGENT] = {200, "\"model\":\"", "openai/gpt-6-luna", agent_opening, agent_text, agent_ending, agent_whole},
    [SESSION] = {100, "\"model_preference\":\"", "turbo", session_opening, session_text, session_ending, NULL},
    [CHAT] = {200, "\"model\":\"", "bench", chat_opening, chat_text, chat_ending, chat_whole},
};

static long number_after(const char *body, const char *name, long otherwise)
{
    const char *found = strstr(body, name);
    return found ? strtol(found + strlen(name), NULL, 10) : otherwise;
}

/* The answer that is not streamed: about 2 KB. */
static void write_whole(struct run *run, struct buffer *out)
{
    struct buffer text = {0};
    run->total = 1;
    add_mark(run, 0);
    phases[run->shape].whole(run, &text);
    write_json(out, 200, text.data, text.length);
    buffer_free(&text);
}

/* The model that was asked for is the one that answers. */
static void copy_model(struct run *run, const char *body)
{
    const char *start = strstr(body, phases[run->shape].model_field);
    const char *value = start ? start + strlen(phases[run->shape].model_field) : phases[run->shape].model_otherwise;
    size_t length = strcspn(value, "\"");
    snprintf(run->model, sizeof run->model, "%.*s", (int)length, value);
}

void run_start(struct run *run, enum shape shape, const char *body, struct buffer *out)
{
    run_free(run);
    run->shape = shape;
    run->stream = shape == SESSION || strstr(body, "\"stream\":true") || strstr(body, "\"stream\": true");
    run->hold = number_after(body, "hold=", 0) != 0;
    run->gap_ns = number_after(body, "gap=", 0) * 1000000;
    run->total = (int)number_after(body, "chunks=", phases[shape].usual_total);
    run->total = run->total < 1 ? 1 : run->total > 1000000 ? 1000000 : run->total;
    run->next = 0;
    run->marks = grow(NULL, (size_t)run->total * sizeof *run->marks);
    copy_model(run, body);
    if (run->stream) {
        write_stream_head(out);
    } else if (!run->hold) {
        write_whole(run, out);
        run->next = run->total + 2;
    }
}

void run_write_next(struct run *run, struct buffer *out)
{
    const struct phases *p = &phases[run->shape];
    if (run->next == 0) {
        p->opening(run, out);
    } else if (run->next <= run->total) {
        add_mark(run, run->next - 1);
        p->text(run, out);
    } else {
        p->ending(run, out);
        write_stream_end(out);
    }
    run->next++;
}

bool run_ended(const struct run *run)
{
    return run->next > run->total + 1;
}

bool run_silent(const struct run *run)
{
    return run->hold && (!run->stream || run->next > 1);
}

bool run_paced(const struct run *run)
{
    return run->gap_ns && run->next > 1 && run->next <= run->total;
}

void run_free(struct run *run)
{
    free(run->marks);
    memset(run, 0, sizeof *run);
}

const char *fixed_text(enum shape shape)
{
    switch (shape) {
    case LOGIN:
        return "{\"user\":{\"id\":\"u-1\",\"email\":\"owner@mail.example\",\"name\":\"Owner\",\"image\":null,\"username\":\"owner\","
               "\"subscription_status\":\"active\",\"subscription_source\":\"stripe\",\"subscription_tier\":\"max\","
               "\"payment_tier\":\"max\"},\"expires\":\"2027-12-01T00:00:00.000Z\",\"preventUsernameRedirect\":false}";
    case QUOTA:
        return "{\"remaining_pro\":100000000,\"remaining_research\":20,\"remaining_labs\":20,\"remaining_agentic_research\":0,"
               "\"model_specific_limits\":{}}";
    default:
        return "{\"error\":{\"message\":\"resource not found\",\"type\":\"not_found\",\"code\":404}}";
    }
}
