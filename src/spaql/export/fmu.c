/* A controller as a co-simulation FMU, of FMI 2 or FMI 3, without an interpreter and without other files.

   Its samples are PERIOD seconds apart, the first one at the start. At the time of a sample outputs follow the inputs
   without delay; the memory takes them in when the simulation goes on. Between samples the outputs are held. What stands
   above this text: INPUTS, OUTPUTS, MONITOR, PERIOD, FMI, Memory, begin, act, and of a monitor ask and release. */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#else
#define EXPORT
#endif
#if FMI == 2
typedef int Boolean;
typedef int Whole;
#else
typedef bool Boolean;
typedef int32_t Whole;
#endif

enum { OK = 0, ERROR = 3, CO_SIMULATION = 1 };
/* value references: inputs, then outputs, then these */
enum { REQUEST = INPUTS + OUTPUTS, RESET, FALLBACK, TRIPS, CAUSE, TIME };

typedef struct {
    Memory memory;
    double input[INPUTS], output[OUTPUTS];
    double time, next; /* of the next sample, in s */
    int due; /* it is now */
    int request, reset, was_reset;
} Instance;

static void start(Instance *it, double time) {
    begin(&it->memory);
    it->time = it->next = time;
    it->due = 1;
    it->was_reset = 0;
}

static void sample(Instance *it) {
#if MONITOR
    if (it->reset && !it->was_reset) release(&it->memory);
    it->was_reset = it->reset;
    if (it->request) ask(&it->memory);
#endif
    act(&it->memory, it->input, it->output);
}

/* The instance as it would be if the sample that is due were taken now. */
static const Instance *seen(const Instance *it, Instance *copy) {
    if (!it->due) return it;
    *copy = *it;
    sample(copy);
    return copy;
}

static int do_step(Instance *it, double time, double size) {
    const double end = time + size, near = 1e-6 * PERIOD;
    if (!(size > 0.0)) return ERROR;
    while (it->due || it->next < end - near) {
        sample(it);
        it->due = 0;
        it->next += PERIOD;
    }
    it->due = it->next <= end + near;
    it->time = end;
    return OK;
}

static int get_numbers(const Instance *it, const unsigned *at, size_t n, double *values) {
    Instance copy;
    const Instance *now = seen(it, &copy);
    for (size_t i = 0; i < n; i++) {
        if (at[i] < INPUTS) values[i] = now->input[at[i]];
        else if (at[i] < INPUTS + OUTPUTS) values[i] = now->output[at[i] - INPUTS];
        else if (at[i] == TIME) values[i] = now->time;
        else return ERROR;
    }
    return OK;
}

static int set_numbers(Instance *it, const unsigned *at, size_t n, const double *values) {
    for (size_t i = 0; i < n; i++) {
        if (at[i] >= INPUTS) return ERROR;
        it->input[at[i]] = values[i];
    }
    return OK;
}

static int get_flags(const Instance *it, const unsigned *at, size_t n, Boolean *values) {
    Instance copy;
    const Instance *now = seen(it, &copy);
    for (size_t i = 0; i < n; i++) {
        if (at[i] == REQUEST) values[i] = now->request != 0;
        else if (at[i] == RESET) values[i] = now->reset != 0;
#if MONITOR
        else if (at[i] == FALLBACK) values[i] = now->memory.fallback != 0;
#endif
        else return ERROR;
    }
    return OK;
}

static int set_flags(Instance *it, const unsigned *at, size_t n, const Boolean *values) {
    for (size_t i = 0; i < n; i++) {
        if (at[i] == REQUEST) it->request = values[i] != 0;
        else if (at[i] == RESET) it->reset = values[i] != 0;
        else return ERROR;
    }
    return OK;
}

static int get_wholes(const Instance *it, const unsigned *at, size_t n, Whole *values) {
    Instance copy;
    const Instance *now = seen(it, &copy);
    for (size_t i = 0; i < n; i++) {
#if MONITOR
        if (at[i] == TRIPS) values[i] = (Whole)now->memory.trips;
        else if (at[i] == CAUSE) values[i] = (Whole)now->memory.cause;
        else return ERROR;
#else
        (void)now;
        return ERROR;
#endif
    }
    return OK;
}

static int keep(const Instance *it, void **state) {
    if (*state == NULL) *state = malloc(sizeof(Instance));
    if (*state == NULL) return ERROR;
    *(Instance *)*state = *it;
    return OK;
}

static void *instance(void) {
    Instance *it = calloc(1, sizeof(Instance));
    if (it != NULL) start(it, 0.0);
    return it;
}

#if FMI == 2
#define NO(name) EXPORT int fmi2##name(void) { return ERROR; }
typedef const char *Text;

EXPORT Text fmi2GetTypesPlatform(void) { return "default"; }
EXPORT Text fmi2GetVersion(void) { return "2.0"; }
EXPORT int fmi2SetDebugLogging(void *it, int on, size_t n, const Text *categories) { return OK; }
EXPORT void *fmi2Instantiate(Text name, int kind, Text guid, Text place, const void *calls, int visible, int logging) {
    return kind == CO_SIMULATION ? instance() : NULL;
}
EXPORT void fmi2FreeInstance(void *it) { free(it); }
EXPORT int fmi2SetupExperiment(Instance *it, int tight, double tolerance, double begins, int ends, double end) {
    start(it, begins);
    return OK;
}
EXPORT int fmi2EnterInitializationMode(Instance *it) { return OK; }
EXPORT int fmi2ExitInitializationMode(Instance *it) { return OK; }
EXPORT int fmi2Terminate(Instance *it) { return OK; }
EXPORT int fmi2Reset(Instance *it) { return *it = (Instance){0}, start(it, 0.0), OK; }
EXPORT int fmi2GetReal(Instance *it, const unsigned *at, size_t n, double *values) { return get_numbers(it, at, n, values); }
EXPORT int fmi2SetReal(Instance *it, const unsigned *at, size_t n, const double *v) { return set_numbers(it, at, n, v); }
EXPORT int fmi2GetInteger(Instance *it, const unsigned *at, size_t n, int *values) { return get_wholes(it, at, n, values); }
EXPORT int fmi2GetBoolean(Instance *it, const unsigned *at, size_t n, int *values) { return get_flags(it, at, n, values); }
EXPORT int fmi2SetBoolean(Instance *it, const unsigned *at, size_t n, const int *v) { return set_flags(it, at, n, v); }
EXPORT int fmi2DoStep(Instance *it, double time, double size, int kept) { return do_step(it, time, size); }
EXPORT int fmi2GetFMUstate(Instance *it, void **state) { return keep(it, state); }
EXPORT int fmi2SetFMUstate(Instance *it, const void *state) { return *it = *(const Instance *)state, OK; }
EXPORT int fmi2FreeFMUstate(Instance *it, void **state) { return free(*state), *state = NULL, OK; }
NO(GetString) NO(SetString) NO(SetInteger) NO(SerializedFMUstateSize) NO(SerializeFMUstate) NO(DeSerializeFMUstate)
NO(GetDirectionalDerivative) NO(SetRealInputDerivatives) NO(GetRealOutputDerivatives) NO(CancelStep)
NO(GetStatus) NO(GetRealStatus) NO(GetIntegerStatus) NO(GetBooleanStatus) NO(GetStringStatus)

#else
#define NO(name) EXPORT int fmi3##name(void) { return ERROR; }
typedef const char *Text;

EXPORT Text fmi3GetVersion(void) { return "3.0"; }
EXPORT int fmi3SetDebugLogging(void *it, bool on, size_t n, const Text *categories) { return OK; }
EXPORT void *fmi3InstantiateModelExchange(Text name, Text token, Text place, bool visible, bool logging, void *environment, void *log) {
    return NULL;
}
EXPORT void *fmi3InstantiateCoSimulation(
    Text name, Text token, Text place, bool visible, bool logging, bool events, bool early, const unsigned *needed,
    size_t n, void *environment, void *log, void *update
) {
    return instance();
}
EXPORT void *fmi3InstantiateScheduledExecution(
    Text name, Text token, Text place, bool visible, bool logging, void *environment, void *log, void *clock, void *lock,
    void *unlock
) {
    return NULL;
}
EXPORT void fmi3FreeInstance(void *it) { free(it); }
EXPORT int fmi3EnterInitializationMode(Instance *it, bool tight, double tolerance, double begins, bool ends, double end) {
    start(it, begins);
    return OK;
}
EXPORT int fmi3ExitInitializationMode(Instance *it) { return OK; }
EXPORT int fmi3Terminate(Instance *it) { return OK; }
EXPORT int fmi3Reset(Instance *it) { return *it = (Instance){0}, start(it, 0.0), OK; }
EXPORT int fmi3GetFloat64(Instance *it, const unsigned *at, size_t n, double *values, size_t k) {
    return get_numbers(it, at, n, values);
}
EXPORT int fmi3SetFloat64(Instance *it, const unsigned *at, size_t n, const double *values, size_t k) {
    return set_numbers(it, at, n, values);
}
EXPORT int fmi3GetInt32(Instance *it, const unsigned *at, size_t n, int32_t *values, size_t k) {
    return get_wholes(it, at, n, values);
}
EXPORT int fmi3GetBoolean(Instance *it, const unsigned *at, size_t n, bool *values, size_t k) {
    return get_flags(it, at, n, values);
}
EXPORT int fmi3SetBoolean(Instance *it, const unsigned *at, size_t n, const bool *values, size_t k) {
    return set_flags(it, at, n, values);
}
EXPORT int fmi3DoStep(Instance *it, double time, double size, bool kept, bool *event, bool *ends, bool *early, double *last) {
    const int status = do_step(it, time, size);
    *event = *ends = *early = false;
    *last = it->time;
    return status;
}
EXPORT int fmi3GetFMUState(Instance *it, void **state) { return keep(it, state); }
EXPORT int fmi3SetFMUState(Instance *it, const void *state) { return *it = *(const Instance *)state, OK; }
EXPORT int fmi3FreeFMUState(Instance *it, void **state) { return free(*state), *state = NULL, OK; }
NO(EnterEventMode) NO(GetFloat32) NO(GetInt8) NO(GetUInt8) NO(GetInt16) NO(GetUInt16) NO(GetUInt32) NO(GetInt64)
NO(GetUInt64) NO(GetString) NO(GetBinary) NO(GetClock) NO(SetFloat32) NO(SetInt8) NO(SetUInt8) NO(SetInt16)
NO(SetUInt16) NO(SetInt32) NO(SetUInt32) NO(SetInt64) NO(SetUInt64) NO(SetString) NO(SetBinary) NO(SetClock)
NO(GetNumberOfVariableDependencies) NO(GetVariableDependencies) NO(SerializedFMUStateSize) NO(SerializeFMUState)
NO(DeserializeFMUState) NO(GetDirectionalDerivative) NO(GetAdjointDerivative) NO(EnterConfigurationMode)
NO(ExitConfigurationMode) NO(GetIntervalDecimal) NO(GetIntervalFraction) NO(GetShiftDecimal) NO(GetShiftFraction)
NO(SetIntervalDecimal) NO(SetIntervalFraction) NO(SetShiftDecimal) NO(SetShiftFraction) NO(EvaluateDiscreteStates)
NO(UpdateDiscreteStates) NO(EnterContinuousTimeMode) NO(CompletedIntegratorStep) NO(SetTime) NO(SetContinuousStates)
NO(GetContinuousStateDerivatives) NO(GetEventIndicators) NO(GetContinuousStates) NO(GetNominalsOfContinuousStates)
NO(GetNumberOfEventIndicators) NO(GetNumberOfContinuousStates) NO(EnterStepMode) NO(GetOutputDerivatives)
NO(ActivateModelPartition)
#endif
