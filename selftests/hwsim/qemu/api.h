/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of QEMU's plugin interface that we use, in our own words: version 7, QEMU 11. The names and shapes are the interface
 * itself. A QEMU of another version is refused at load (plugin.cc), because shapes have changed with every version.
 *
 * Two container types of glib cross the interface; QEMU brings glib along.
 */
#ifndef HWSIM_QEMU_API_H
#define HWSIM_QEMU_API_H

#include <cstddef>
#include <cstdint>

extern "C" {

constexpr int qemu_api_version = 7;

/* glib */
struct GArray {
	char *data;
	unsigned len;
};
struct GByteArray {
	std::uint8_t *data;
	unsigned len;
};
GByteArray *g_byte_array_new(void);
GByteArray *g_byte_array_set_size(GByteArray *array, unsigned length);
char *g_array_free(GArray *array, int free_segment);

/* Handles */
using qemu_plugin_id_t = std::uint64_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;
struct qemu_plugin_register;
struct qemu_plugin_hwaddr;
using qemu_plugin_meminfo_t = std::uint32_t;

struct qemu_info_t {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
};
/* A word of a scoreboard, which has an entry for each vCPU. */
struct qemu_plugin_u64 {
	qemu_plugin_scoreboard *score;
	std::size_t offset;
};
struct qemu_plugin_reg_descriptor {
	qemu_plugin_register *handle;
	const char *name;
	const char *feature;
	bool is_readonly;
};

struct qemu_plugin_mem_value {
	int type;
	union {
		std::uint8_t u8;
		std::uint16_t u16;
		std::uint32_t u32;
		std::uint64_t u64;
		struct {
			std::uint64_t low, high;
		} u128;
	} data;
};

/* What a callback may do to registers; without PC it must not jump. */
enum qemu_plugin_cb_flags : int { CB_NO_REGS, CB_R_REGS, CB_RW_REGS, CB_RW_REGS_PC };
enum qemu_plugin_cond : int { COND_NEVER, COND_ALWAYS, COND_EQ, COND_NE, COND_LT, COND_LE, COND_GT, COND_GE };
enum qemu_plugin_mem_rw : int { MEM_R = 1, MEM_W, MEM_RW };
enum qemu_plugin_op : int { INLINE_ADD, INLINE_STORE };
enum qemu_plugin_discon_type : int { DISCON_INTERRUPT = 1, DISCON_EXCEPTION = 2, DISCON_HOSTCALL = 4, DISCON_ALL = 7 };

/* Callbacks */
using qemu_vcpu_cb = void (*)(unsigned vcpu, void *data);
using qemu_tb_trans_cb = void (*)(qemu_plugin_tb *block, void *data);
using qemu_discon_cb = void (*)(
	unsigned vcpu, qemu_plugin_discon_type type, std::uint64_t from, std::uint64_t to, void *data);
using qemu_access_cb = void (*)(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void *data);
using qemu_plain_cb = void (*)(void *data);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_vcpu_cb cb, void *data);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, qemu_vcpu_cb cb, void *data);
void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t id, qemu_vcpu_cb cb, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_tb_trans_cb cb, void *data);
void qemu_plugin_register_vcpu_discon_cb(
	qemu_plugin_id_t id, qemu_plugin_discon_type type, qemu_discon_cb cb, void *data);
void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, qemu_plain_cb cb, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plain_cb cb, void *data);
/* Takes effect soon, with all vCPUs stopped: throws away all translations and registrations, then calls cb. */
void qemu_plugin_reset(qemu_plugin_id_t id, qemu_plain_cb cb, void *data);

/* In a translation callback */
void qemu_plugin_register_vcpu_tb_exec_cb(
	qemu_plugin_tb *block, qemu_vcpu_cb cb, qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(qemu_plugin_tb *block, qemu_vcpu_cb cb, qemu_plugin_cb_flags flags,
	qemu_plugin_cond cond, qemu_plugin_u64 entry, std::uint64_t value, void *data);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
	qemu_plugin_tb *block, qemu_plugin_op op, qemu_plugin_u64 entry, std::uint64_t value);
void qemu_plugin_register_vcpu_insn_exec_cb(
	qemu_plugin_insn *insn, qemu_vcpu_cb cb, qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
	qemu_plugin_insn *insn, qemu_plugin_op op, qemu_plugin_u64 entry, std::uint64_t value);
std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *block);
std::uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb *block);
qemu_plugin_insn *qemu_plugin_tb_get_insn(const qemu_plugin_tb *block, std::size_t index);
std::size_t qemu_plugin_insn_data(const qemu_plugin_insn *insn, void *to, std::size_t size);
std::size_t qemu_plugin_insn_size(const qemu_plugin_insn *insn);

/* Callbacks after each memory access of an instruction; questions about an access are answered in its callback only. */
void qemu_plugin_register_vcpu_mem_cb(
	qemu_plugin_insn *insn, qemu_access_cb cb, qemu_plugin_cb_flags flags, qemu_plugin_mem_rw rw, void *data);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
qemu_plugin_mem_value qemu_plugin_mem_get_value(qemu_plugin_meminfo_t info);
qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, std::uint64_t address);
std::uint64_t qemu_plugin_hwaddr_phys_addr(const qemu_plugin_hwaddr *where);

/* Registers and memory of the vCPU whose callback is running */
GArray *qemu_plugin_get_registers(void);
bool qemu_plugin_read_register(qemu_plugin_register *handle, GByteArray *to);
bool qemu_plugin_write_register(qemu_plugin_register *handle, GByteArray *from);
[[noreturn]] void qemu_plugin_set_pc(std::uint64_t address);
bool qemu_plugin_read_memory_vaddr(std::uint64_t address, GByteArray *to, std::size_t size);
bool qemu_plugin_write_memory_vaddr(std::uint64_t address, GByteArray *from);
bool qemu_plugin_translate_vaddr(std::uint64_t address, std::uint64_t *physical);
/* 0 is success */
int qemu_plugin_read_memory_hwaddr(std::uint64_t address, GByteArray *to, std::size_t size);
int qemu_plugin_write_memory_hwaddr(std::uint64_t address, GByteArray *from);

qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(std::size_t size);
void *qemu_plugin_scoreboard_find(qemu_plugin_scoreboard *score, unsigned vcpu);
void qemu_plugin_outs(const char *text);
}

#endif
