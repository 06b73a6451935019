/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine: what all vCPUs of the guest share, and what the plugin needs of an architecture: its options, and its vCPUs. There is one, made
 * before there are vCPUs. It is never destroyed, because at exit QEMU calls the plugin after the plugin's destructors have run. All vCPUs share
 * its blocks of translated code.
 */
#ifndef HWSIM_QEMU_MACHINE_H
#define HWSIM_QEMU_MACHINE_H

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "../base/control.h"
#include "../base/logs.h"
#include "api.h"

namespace hwsim::qemu
{

class Vcpu;

/*
 * What translated blocks do for the plugin beside the instructions that it carries out. They do what any vCPU needs; while no vCPU traces or
 * counts they are as QEMU makes them.
 */
enum Instrumentation : unsigned { no_instrumentation = 0, flow_instrumentation = 1, count_instrumentation = 2 };

/* Everything made for one block, until QEMU throws its translations away. */
struct Translation {
	virtual ~Translation() = default;
};

class Machine
{
public:
	/* An option of the architecture; false if it is none. Refuses values that it does not know. */
	virtual bool option(std::string_view name, std::string_view value) = 0;
	virtual std::string_view option_names() const = 0;
	/* All options have been given. There may be so many vCPUs. */
	virtual void begin(unsigned cpus) = 0;
	virtual std::unique_ptr<Vcpu> make_vcpu(unsigned index) = 0;
	/* Called with each block that QEMU translates. */
	virtual qemu_tb_trans_cb translator() const = 0;
	virtual Control &control() = 0;
	/* Are interrupts and exceptions of interest now? Asked whenever instrumentation has changed: each costs a call. */
	virtual bool wants_discontinuities() const { return true; }
	/* Rate of the clock whose time consider_less() is given. */
	virtual std::uint64_t ticks_per_ns() const = 0;
	/* A line about what vCPUs share, or nothing. */
	virtual std::string statistics() const { return ""; }

	qemu_plugin_id_t id = 0;
	qemu_plugin_scoreboard *score = nullptr; /* of InlineWords */
	unsigned seed = 1;
	Logs::Wanted logs;

	std::vector<std::unique_ptr<Vcpu>> vcpus;
	std::mutex lock; /* for what follows: vCPUs translate at the same time */
	std::vector<std::unique_ptr<Translation>> translations;

	/* What blocks do now. translate_anew() has them translated anew, for what all vCPUs need by then. */
	std::atomic<unsigned> instrumentation{no_instrumentation};
	void translate_anew();
	/*
	 * A vCPU that needs less than blocks do calls consider_less(). When blocks have done more than any vCPU needs for long enough, they are
	 * translated anew. The time since when they do, or 0:
	 */
	std::atomic<std::uint64_t> enough_since{0};
	void consider_less(std::uint64_t now);

protected:
	~Machine() = default;

private:
	unsigned needs_of_all() const;
	static void on_anew(void *);
};

/* The machine, from the plugin's first call on. */
extern constinit Machine *machine;
/* Makes the machine for this target of QEMU; null if there is none. And the names of all targets, with "between" between them. */
Machine *find_machine(std::string_view target);
std::string machine_targets(std::string_view between);
/* Of machine->vcpus, which has its final size: each block looks up its vCPU, and this is the shortest way. */
extern constinit const std::unique_ptr<Vcpu> *vcpu_list;
/* The vCPU of this thread. */
extern constinit thread_local Vcpu *this_vcpu;

/* Registers the plugin callbacks that do not belong to blocks; qemu_plugin_reset() drops them, too. */
void register_callbacks();

} // namespace hwsim::qemu

#endif
