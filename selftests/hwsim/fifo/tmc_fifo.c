// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A driver of the topology "fifo", for a test of the virtual hardware: the trace unit of processor 0 traces user code in a range of
 * addresses, an ETF in software FIFO mode takes the trace, and the interrupt of its watermark has the RAM read out. No kernel has a driver of
 * that mode.
 *
 * Tracing begins when the module is loaded, and ends when "stop" is written to; then there is debugfs tmc_fifo/frames. The registers of a
 * trace unit take stores of its own processor only: both have to be done on processor 0.
 */
#include <linux/debugfs.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/of_irq.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

static ulong from = 0x400000, to = 0x500000;
module_param(from, ulong, 0444);
MODULE_PARM_DESC(from, "the first address of user code that is traced");
module_param(to, ulong, 0444);
MODULE_PARM_DESC(to, "the last one");
static uint watermark = 12 << 10;
module_param(watermark, uint, 0444);
MODULE_PARM_DESC(watermark, "the interrupt comes when so many bytes, or more, are there");

#define FRAMES_SIZE (64UL << 20)

/* Of all components */
#define LAR 0xfb0
#define LAR_UNLOCK 0xc5acce55

/* ETM: IHI0064, "Register descriptions" */
#define TRCPRGCTLR 0x004
#define TRCSTATR 0x00c
#define TRCCONFIGR 0x010
#define TRCEVENTCTL0R 0x020
#define TRCEVENTCTL1R 0x024
#define TRCSTALLCTLR 0x02c
#define TRCTSCTLR 0x030
#define TRCSYNCPR 0x034
#define TRCTRACEIDR 0x040
#define TRCVICTLR 0x080
#define TRCVIIECTLR 0x084
#define TRCVISSCTLR 0x088
#define TRCOSLAR 0x300
#define TRCACVR0 0x400
#define TRCACATR0 0x480
#define TRCSTATR_IDLE BIT(0)
#define TRACE_ID 0x10
/* The resource that is always true; started; no EL1 and EL2 of the non-secure state, and nothing of the secure one. */
#define VICTLR_USER (BIT(0) | BIT(9) | GENMASK(19, 16) | GENMASK(22, 21))

/* Funnel: DDI0480, "Programmers model" */
#define FUNCTL 0x000
#define FUNCTL_HOLD (3 << 8)

/* TMC: DDI0461, "Programmers model" */
#define TMC_RSZ 0x004
#define TMC_STS 0x00c
#define TMC_RRD 0x010
#define TMC_CTL 0x020
#define TMC_MODE 0x028
#define TMC_BUFWM 0x034
#define TMC_FFCR 0x304
#define STS_READY BIT(2)
#define MODE_SOFTWARE_FIFO 1
#define FFCR_FORMAT 0x3
#define FFCR_FLUSH BIT(6)
#define FFCR_STOP_ON_FLUSH BIT(12)
#define NOTHING 0xffffffff

static void __iomem *etm, *funnel, *etf;
static int irq;
static DEFINE_SPINLOCK(lock); /* of the FIFO, and of the frames that came out of it */
static u32 *frames;
static struct debugfs_blob_wrapper blob;
static u32 interrupts, most;
static struct dentry *dir;
static DEFINE_MUTEX(tracing_mutex); /* of @tracing */
static bool tracing;

/* Until it is empty twice in a row: a read that finds nothing has the TMC look for more. */
static void fifo_drain(void)
{
	unsigned long flags;
	unsigned int nothing = 0;
	u32 bytes = 0;

	spin_lock_irqsave(&lock, flags);
	while (nothing < 2 && blob.size < FRAMES_SIZE) {
		u32 word = readl_relaxed(etf + TMC_RRD);

		nothing = word == NOTHING ? nothing + 1 : 0;
		if (nothing)
			continue;
		frames[blob.size / sizeof(word)] = word;
		blob.size += sizeof(word);
		bytes += sizeof(word);
	}
	most = max(most, bytes);
	spin_unlock_irqrestore(&lock, flags);
}

static irqreturn_t fifo_interrupt(int number, void *unused)
{
	interrupts++;
	fifo_drain();
	return IRQ_HANDLED;
}

static int fifo_start(void)
{
	u32 size = readl(etf + TMC_RSZ) * sizeof(u32);

	if (watermark < sizeof(u32) || watermark >= size) {
		pr_err("tmc_fifo: watermark=%u refused: 4 to %u\n", watermark, size - 1);
		return -EINVAL;
	}
	writel(LAR_UNLOCK, etf + LAR);
	writel(MODE_SOFTWARE_FIFO, etf + TMC_MODE);
	writel((size - watermark) / sizeof(u32), etf + TMC_BUFWM);
	writel(FFCR_FORMAT, etf + TMC_FFCR);
	writel(1, etf + TMC_CTL);

	writel(LAR_UNLOCK, funnel + LAR);
	writel(FUNCTL_HOLD | BIT(0), funnel + FUNCTL);

	writel(LAR_UNLOCK, etm + LAR);
	writel(0, etm + TRCOSLAR);
	writel(0, etm + TRCPRGCTLR);
	writel(0, etm + TRCCONFIGR);
	writel(0, etm + TRCEVENTCTL0R);
	writel(0, etm + TRCEVENTCTL1R);
	writel(0, etm + TRCSTALLCTLR);
	writel(0, etm + TRCTSCTLR);
	writel(12, etm + TRCSYNCPR);
	writel(TRACE_ID, etm + TRCTRACEIDR);
	writel(VICTLR_USER, etm + TRCVICTLR);
	writel(BIT(0), etm + TRCVIIECTLR);
	writel(0, etm + TRCVISSCTLR);
	writel(lower_32_bits(from), etm + TRCACVR0);
	writel(upper_32_bits(from), etm + TRCACVR0 + 4);
	writel(lower_32_bits(to), etm + TRCACVR0 + 8);
	writel(upper_32_bits(to), etm + TRCACVR0 + 12);
	writel(0, etm + TRCACATR0);
	writel(0, etm + TRCACATR0 + 8);
	writel(1, etm + TRCPRGCTLR);
	return 0;
}

/* DDI0461 2.2.2, "Standard usage models for the TMC": what a flush has sent may take more than the room that there is. */
static int fifo_flush(void)
{
	unsigned long end = jiffies + 10 * HZ;
	u32 status;

	writel(0, etm + TRCPRGCTLR);
	if (readl_poll_timeout(etm + TRCSTATR, status, status & TRCSTATR_IDLE, 1, USEC_PER_SEC))
		return -ETIMEDOUT;
	writel(FFCR_FORMAT | FFCR_STOP_ON_FLUSH, etf + TMC_FFCR);
	writel(FFCR_FORMAT | FFCR_STOP_ON_FLUSH | FFCR_FLUSH, etf + TMC_FFCR);
	do {
		fifo_drain();
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
	} while (!(readl(etf + TMC_STS) & STS_READY));
	fifo_drain();
	return 0;
}

/* RRD of a disabled TMC is what the RAM happens to hold: nobody may read then. */
static int fifo_stop(const char *value, const struct kernel_param *param)
{
	int ret = -EALREADY;

	mutex_lock(&tracing_mutex);
	if (tracing) {
		tracing = false;
		ret = fifo_flush();
		disable_irq(irq);
		writel(0, etf + TMC_CTL);
		debugfs_create_blob("frames", 0400, dir, &blob);
	}
	mutex_unlock(&tracing_mutex);
	return ret;
}

static const struct kernel_param_ops stop_ops = { .set = fifo_stop };
module_param_cb(stop, &stop_ops, NULL, 0200);
MODULE_PARM_DESC(stop, "anything: ends tracing");

/* The component of that name at the lowest address. */
static void __iomem *component_map(const char *name, struct device_node **found)
{
	struct device_node *node;
	u64 lowest = U64_MAX;

	*found = NULL;
	for_each_compatible_node(node, NULL, "arm,primecell") {
		struct resource at;

		if (!of_node_name_eq(node, name) || of_address_to_resource(node, 0, &at) || at.start > lowest)
			continue;
		lowest = at.start;
		of_node_put(*found);
		*found = of_node_get(node);
	}
	return *found ? of_iomap(*found, 0) : NULL;
}

static void unmap(void __iomem *at)
{
	if (at)
		iounmap(at);
}

static void fifo_release(void)
{
	debugfs_remove(dir);
	if (irq)
		irq_dispose_mapping(irq);
	unmap(etm);
	unmap(funnel);
	unmap(etf);
	vfree(frames);
}

static int __init fifo_init(void)
{
	struct device_node *of_etm, *of_funnel, *of_etf;
	int err = -ENODEV;

	etm = component_map("etm", &of_etm);
	funnel = component_map("funnel", &of_funnel);
	etf = component_map("etf", &of_etf);
	frames = vmalloc(FRAMES_SIZE);
	blob.data = frames;
	dir = debugfs_create_dir("tmc_fifo", NULL);
	debugfs_create_u32("interrupts", 0400, dir, &interrupts);
	debugfs_create_u32("most", 0400, dir, &most);
	irq = of_etf ? irq_of_parse_and_map(of_etf, 0) : 0;
	of_node_put(of_etm);
	of_node_put(of_funnel);
	of_node_put(of_etf);
	if (!etm || !funnel || !etf || !frames || !irq)
		goto release;
	err = request_irq(irq, fifo_interrupt, 0, "tmc_fifo", etf);
	if (err)
		goto release;
	err = fifo_start();
	if (err)
		goto free;
	mutex_lock(&tracing_mutex);
	tracing = true;
	mutex_unlock(&tracing_mutex);
	return 0;

free:
	free_irq(irq, etf);
release:
	fifo_release();
	return err;
}

static void __exit fifo_exit(void)
{
	free_irq(irq, etf);
	writel(0, etm + TRCPRGCTLR);
	writel(0, etf + TMC_CTL);
	fifo_release();
}

module_init(fifo_init);
module_exit(fifo_exit);
MODULE_DESCRIPTION("Software FIFO of a TMC on virtual CoreSight hardware");
MODULE_LICENSE("GPL");
