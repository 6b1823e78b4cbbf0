/* A DC motor as a co-simulation FMU, for FMI 2 (-DFMI=2) or FMI 3 (-DFMI=3).

       L di/dt = voltage - R i - K speed        J dspeed/dt = K i - b speed - load

   Its own step is 0.1 ms (Runge-Kutta, fourth order), and it takes only multiples of that. It fails above 30 V, shows a
   current that is not a number for R < 0, and stops its simulation (FMI 3) above 400 rad/s.
   -DNO_RESET: it cannot be reset. Written from the FMI documents; only what the tests need is there. */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { OK = 0, ERROR = 3, FATAL = 4 };
enum { TIME, VOLTAGE, SPEED, CURRENT, J, R, L, K, B, LOAD, NUMBERS, DIRECTION = 20, BRAKE = 21 };
static const double INNER = 1e-4;

#if FMI == 2
typedef int Boolean;
typedef int Whole;
typedef void (*Logger)(void *, const char *, int, const char *, const char *, ...);
typedef struct { Logger log; void *allocate, *release, *finished; void *environment; } Callbacks;
#else
typedef bool Boolean;
typedef int32_t Whole;
typedef void (*Logger)(void *, int, const char *, const char *);
#endif

typedef struct { double v[NUMBERS]; int brake; Logger log; void *environment; } Motor;

static int fail(Motor *m, int status, const char *message) {
#if FMI == 2
    if (m->log) m->log(m->environment, "motor", status, "", message);
#else
    if (m->log) m->log(m->environment, status, "", message);
#endif
    return status;
}

static int start(Motor *m) {
    const double values[NUMBERS] = {[J] = 0.01, [R] = 1.0, [L] = 0.05, [K] = 0.1, [B] = 0.001};
    for (int i = 0; i < NUMBERS; i++) m->v[i] = values[i];
    m->brake = 0;
    return OK;
}

static void slopes(const Motor *m, const double x[2], double dx[2]) {
    const double *v = m->v;
    dx[0] = (v[K] * x[1] - (v[B] + (m->brake ? 0.1 : 0.0)) * x[0] - v[LOAD]) / v[J];
    dx[1] = (v[VOLTAGE] - v[R] * x[1] - v[K] * x[0]) / v[L];
}

static void inner_step(Motor *m) {
    double x[2] = {m->v[SPEED], m->v[CURRENT]}, y[2], k[4][2];
    slopes(m, x, k[0]);
    for (int i = 0; i < 2; i++) y[i] = x[i] + INNER / 2 * k[0][i];
    slopes(m, y, k[1]);
    for (int i = 0; i < 2; i++) y[i] = x[i] + INNER / 2 * k[1][i];
    slopes(m, y, k[2]);
    for (int i = 0; i < 2; i++) y[i] = x[i] + INNER * k[2][i];
    slopes(m, y, k[3]);
    for (int i = 0; i < 2; i++) x[i] += INNER / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    m->v[SPEED] = x[0];
    m->v[CURRENT] = m->v[R] < 0 ? NAN : x[1];
}

static int do_step(Motor *m, double time, double size) {
    const double steps = size / INNER;
    if (fabs(steps - round(steps)) > 1e-6 || steps < 0.5) return fail(m, ERROR, "a step must be a multiple of 0.1 ms");
    if (fabs(m->v[VOLTAGE]) > 30) return fail(m, ERROR, "over-voltage");
    if (m->v[LOAD] > 1000) return fail(m, FATAL, "the shaft is broken");
    for (long i = 0; i < lround(steps); i++) inner_step(m);
    m->v[TIME] = time + size;
    return OK;
}

static int get_numbers(Motor *m, const unsigned *at, size_t n, double *values) {
    for (size_t i = 0; i < n; i++) values[i] = m->v[at[i]];
    return OK;
}

static int set_numbers(Motor *m, const unsigned *at, size_t n, const double *values) {
    for (size_t i = 0; i < n; i++) {
        if (at[i] == J && values[i] <= 0) return fail(m, ERROR, "J must be positive");
        m->v[at[i]] = values[i];
    }
    return OK;
}

static int get_wholes(Motor *m, size_t n, Whole *values) {
    for (size_t i = 0; i < n; i++) values[i] = (m->v[SPEED] > 0) - (m->v[SPEED] < 0);
    return OK;
}

static int reset(Motor *m) {
#ifdef NO_RESET
    return fail(m, ERROR, "cannot be reset");
#else
    return start(m);
#endif
}

#if FMI == 2
#define SAY_NO(name) int fmi2##name(void) { return ERROR; }

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
void *fmi2Instantiate(const char *name, int kind, const char *guid, const char *where, const Callbacks *calls, int see, int log) {
    Motor *m = calloc(1, sizeof(Motor));
    m->log = calls->log;
    m->environment = calls->environment;
    start(m);
    return m;
}
void fmi2FreeInstance(Motor *m) { free(m); }
int fmi2SetupExperiment(Motor *m, int tight, double tolerance, double begin, int ends, double end) { return OK; }
int fmi2EnterInitializationMode(Motor *m) { return OK; }
int fmi2ExitInitializationMode(Motor *m) { return OK; }
int fmi2Terminate(Motor *m) { return OK; }
int fmi2Reset(Motor *m) { return reset(m); }
int fmi2GetReal(Motor *m, const unsigned *at, size_t n, double *values) { return get_numbers(m, at, n, values); }
int fmi2SetReal(Motor *m, const unsigned *at, size_t n, const double *values) { return set_numbers(m, at, n, values); }
int fmi2GetInteger(Motor *m, const unsigned *at, size_t n, int *values) { return get_wholes(m, n, values); }
int fmi2SetBoolean(Motor *m, const unsigned *at, size_t n, const int *values) { m->brake = values[0]; return OK; }
int fmi2GetBoolean(Motor *m, const unsigned *at, size_t n, int *values) { values[0] = m->brake; return OK; }
int fmi2DoStep(Motor *m, double time, double size, int keep) { return do_step(m, time, size); }
SAY_NO(SetDebugLogging) SAY_NO(GetString) SAY_NO(SetInteger) SAY_NO(SetString) SAY_NO(GetFMUstate) SAY_NO(SetFMUstate)
SAY_NO(FreeFMUstate) SAY_NO(SerializedFMUstateSize) SAY_NO(SerializeFMUstate) SAY_NO(DeSerializeFMUstate)
SAY_NO(GetDirectionalDerivative) SAY_NO(SetRealInputDerivatives) SAY_NO(GetRealOutputDerivatives) SAY_NO(CancelStep)
SAY_NO(GetStatus) SAY_NO(GetRealStatus) SAY_NO(GetIntegerStatus) SAY_NO(GetBooleanStatus) SAY_NO(GetStringStatus)

#else
#define SAY_NO(name) int fmi3##name(void) { return ERROR; }

const char *fmi3GetVersion(void) { return "3.0"; }
void *fmi3InstantiateCoSimulation(
    const char *name, const char *token, const char *where, bool see, bool verbose, bool events, bool early,
    const unsigned *needed, size_t n, void *environment, Logger log, void *update
) {
    Motor *m = calloc(1, sizeof(Motor));
    m->log = log;
    m->environment = environment;
    start(m);
    return m;
}
void fmi3FreeInstance(Motor *m) { free(m); }
int fmi3EnterInitializationMode(Motor *m, bool tight, double tolerance, double begin, bool ends, double end) { return OK; }
int fmi3ExitInitializationMode(Motor *m) { return OK; }
int fmi3Terminate(Motor *m) { return OK; }
int fmi3Reset(Motor *m) { return reset(m); }
int fmi3GetFloat64(Motor *m, const unsigned *at, size_t n, double *values, size_t k) { return get_numbers(m, at, n, values); }
int fmi3SetFloat64(Motor *m, const unsigned *at, size_t n, const double *values, size_t k) { return set_numbers(m, at, n, values); }
int fmi3GetInt32(Motor *m, const unsigned *at, size_t n, int32_t *values, size_t k) { return get_wholes(m, n, values); }
int fmi3SetBoolean(Motor *m, const unsigned *at, size_t n, const bool *values, size_t k) { m->brake = values[0]; return OK; }
int fmi3GetBoolean(Motor *m, const unsigned *at, size_t n, bool *values, size_t k) { values[0] = m->brake; return OK; }
int fmi3DoStep(Motor *m, double time, double size, bool keep, bool *event, bool *stop, bool *early, double *last) {
    const int status = do_step(m, time, size);
    *event = *early = false;
    *stop = fabs(m->v[SPEED]) > 400;
    *last = m->v[TIME];
    return status;
}
SAY_NO(SetDebugLogging) SAY_NO(InstantiateModelExchange) SAY_NO(InstantiateScheduledExecution) SAY_NO(EnterEventMode)
SAY_NO(GetFloat32) SAY_NO(GetInt8) SAY_NO(GetUInt8) SAY_NO(GetInt16) SAY_NO(GetUInt16) SAY_NO(GetUInt32) SAY_NO(GetInt64)
SAY_NO(GetUInt64) SAY_NO(GetString) SAY_NO(GetBinary) SAY_NO(GetClock)
SAY_NO(SetFloat32) SAY_NO(SetInt8) SAY_NO(SetUInt8) SAY_NO(SetInt16) SAY_NO(SetUInt16) SAY_NO(SetInt32) SAY_NO(SetUInt32)
SAY_NO(SetInt64) SAY_NO(SetUInt64) SAY_NO(SetString) SAY_NO(SetBinary) SAY_NO(SetClock)
SAY_NO(GetNumberOfVariableDependencies) SAY_NO(GetVariableDependencies) SAY_NO(GetFMUState) SAY_NO(SetFMUState)
SAY_NO(FreeFMUState) SAY_NO(SerializedFMUStateSize) SAY_NO(SerializeFMUState) SAY_NO(DeserializeFMUState)
SAY_NO(GetDirectionalDerivative) SAY_NO(GetAdjointDerivative) SAY_NO(EnterConfigurationMode) SAY_NO(ExitConfigurationMode)
SAY_NO(GetIntervalDecimal) SAY_NO(GetIntervalFraction) SAY_NO(GetShiftDecimal) SAY_NO(GetShiftFraction)
SAY_NO(SetIntervalDecimal) SAY_NO(SetIntervalFraction) SAY_NO(SetShiftDecimal) SAY_NO(SetShiftFraction)
SAY_NO(EvaluateDiscreteStates) SAY_NO(UpdateDiscreteStates) SAY_NO(EnterContinuousTimeMode) SAY_NO(CompletedIntegratorStep)
SAY_NO(SetTime) SAY_NO(SetContinuousStates) SAY_NO(GetContinuousStateDerivatives) SAY_NO(GetEventIndicators)
SAY_NO(GetContinuousStates) SAY_NO(GetNominalsOfContinuousStates) SAY_NO(GetNumberOfEventIndicators)
SAY_NO(GetNumberOfContinuousStates) SAY_NO(EnterStepMode) SAY_NO(GetOutputDerivatives) SAY_NO(ActivateModelPartition)
#endif
