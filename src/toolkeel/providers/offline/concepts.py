"""What the offline model knows of language: plain tables, English and Chinese side by side.

Each line of `CONCEPTS` is one idea with the words for it; two texts overlap where they share
an idea. English words stand as stems (see `words.stem`).
"""

from __future__ import annotations


def words_of(text: str) -> tuple[str, ...]:
    """A table's words: they read better without quotes and commas."""
    return tuple(text.split())


CONCEPTS = """
weather forecast temperature climate sunny rain rainy snow wind windy humidity umbrella 天气 气温 温度 下雨 下雪 刮风 预报 多少度 几度 带伞
calculate calculator calculation compute math mathematical arithmetic evaluate expression equation formula 计算 算一下 算算 算式 等于 数学 表达式
time clock hour now 时间 几点 点钟 时钟 现在
date day weekday calendar week 日期 星期 星期几 周几 几号 礼拜 日子 哪天
today 今天 今日
tomorrow 明天 明日
timezone zone 时区
file document filename 文件 文档
path filepath 路径
line row 行
read open view show display content 读 读取 打开 查看 看看 看一下 内容 显示
list ls directory folder dir entry 列出 列表 目录 文件夹 有哪些 列一下
search find lookup query grep google 搜索 搜 查找 找 找一下 查询 查 查一下 检索 寻找
pattern regex regexp match 匹配 模式
count amount total 总数 个数 统计
many number 多少 几个 数量 几行 几条
limit max maximum top first result 条 最多 前 上限 结果 个结果 条结果
word 单词 词 字数
character letter char 字符
translate translation translator 翻译成 翻译为 翻译 译成 译
language lang 语言
email mail inbox 邮件 邮箱 电子邮件
send post deliver 发送 发给 发 寄
message sms text chat 消息 短信 信息
recipient to receiver 收件人
subject title headline 主题 标题
body 正文
stock share ticker symbol quote 股票 股价 代码
price cost 价格 价钱 多少钱
city town place location where 城市 地点 位置 地方
country nation 国家
from origin departure source start depart 出发 起点 从
destination arrival until end arrive 到达 目的地 终点 到
news headline article 新闻 资讯
user account customer client member 用户 账户 客户 会员
order purchase 订单
buy shop 购买 买
pay payment transfer 支付 付款 转账
product item goods 商品 产品
book reserve reservation booking 预订 预定 订
flight airline plane fly 航班 机票 飞机 飞
train bus transit 火车 高铁 公交
hotel accommodation room stay 酒店 住宿 旅馆
restaurant food eat dinner lunch 餐厅 饭店 美食 吃饭
movie film cinema 电影
music song track play playlist album 音乐 歌 歌曲 播放
remind reminder alarm todo task 提醒 闹钟 待办 任务
note memo 笔记 备忘
meeting event schedule appointment 会议 日程 活动 预约
create make new insert generate 创建 新建 生成 建立 建
delete remove erase drop cancel 删除 移除 去掉 取消
update edit change modify set replace rename 更新 修改 设置 改成 改 替换
write save store 写 写入 保存 存
convert conversion exchange currency rate money dollar euro yuan 换算 转换 兑换 汇率 货币 换成 美元 人民币 欧元 英镑 日元 港币 韩元
distance far route direction navigate map 距离 多远 路线 导航 地图
random roll dice 随机 骰子 掷
add sum plus addition 加 相加 求和 加上
subtract minus subtraction 减 减去 相减
multiply times product multiplication 乘 乘以 相乘
divide division 除 除以 相除
square power 平方 次方
root sqrt 平方根 开方
percent percentage 百分之 百分比
greet greeting hello hi hey 问候 打招呼 你好 您好
joke funny 笑话
summary summarize summarise 总结 摘要 概括
download 下载
upload 上传
run execute launch 运行 执行 启动
sort order 排序
reverse 反转 倒序
length long size 长度 大小
person people passenger guest 人 人数 乘客
name call 名字 名称 叫 姓名
age old year 年龄 岁 年
image picture photo draw 图片 照片 画 图像
page web website url link internet online 网页 网站 网址 链接 网络
fetch 获取 抓取
fahrenheit 华氏 华氏度
celsius centigrade 摄氏 摄氏度
help 帮助
status state 状态
light lamp 灯
turn switch 开关
on 打开 开
off 关闭 关掉 关
phone telephone mobile 电话 手机 号码
address 地址
history 历史
population 人口
capital 首都
definition define dictionary meaning 定义 词典 意思 解释
recipe cook 菜谱 做法
health bmi weight 体重 健康
height tall 身高 高度
database sql table db 数据库 表
ticket issue bug 工单 问题单
"""

STOP = frozenset(
    words_of(
        """
    a an the of to from in on at for with by as like is are was were be been being am do
    does did has have had what which who whom whose how why when that this these those it
    its i me my you your we us our he she they them can could would should will shall may
    might must please tell give let know want need like just and or but if then also so
    there here too about into some any all each other than such s t d ll re m ve not no yes
    if up out over use using used via per get gets getting got retrieve retrieves much more
    most very really thanks thank ok okay whether given return returns
    """
    )
)
"""English words that say nothing about which tool is meant."""

CHINESE_STOP = words_of(
    """
    怎么样 怎样 如何 什么 请问 请你 请帮我 帮我 帮忙 麻烦 告诉我 告诉 给我 我想知道 我想 我要 想要 一下 一个 这个 那个 哪个 哪些 是不是 有没有 是否 可以
    能不能 能 会 吗 呢 吧 啊 呀 了 的 地 得 是 在 有 和 与 跟 及 以及 还有 并且 并 然后 或者 或 请 你 我 他 她 它 我们 你们 把 将 被 用 给 为
    对 从 到 里 上 下 中 这 那 哪 谁 多 个 些 也 都 就 再 还 又 很 太 当前 目前 最近 关于 所有 需要
    """
)
"""Chinese words that say nothing about which tool is meant."""

PLACES = words_of(
    """
    北京 上海 广州 深圳 杭州 南京 成都 重庆 武汉 西安 天津 苏州 香港 澳门 台北 东京 大阪 京都 首尔 新加坡 曼谷 巴黎 伦敦 柏林 罗马 马德里 莫斯科 纽约
    旧金山 洛杉矶 芝加哥 西雅图 波士顿 华盛顿 多伦多 温哥华 悉尼 墨尔本 迪拜 中国 日本 韩国 美国 英国 法国 德国 意大利 西班牙 俄罗斯 印度 加拿大 澳大利亚
    青岛 大连 厦门 长沙 郑州 济南 哈尔滨 沈阳 昆明 合肥 福州 宁波 无锡 贵阳 南宁 兰州 海口 三亚 拉萨 乌鲁木齐 呼和浩特 太原 石家庄 南昌
    """
)
"""Places written in Chinese, where no capital letter shows a name."""

CURRENCIES = words_of("美元 人民币 欧元 英镑 日元 港币 韩元")
"""Currencies written in Chinese, where no capitals show a code."""

UNITS = words_of(
    """
    km m cm mm mi ft in kg g mg lb lbs oz c f k am pm s ms h hr hrs min mins gb mb kb usd
    eur gbp st nd rd th px pt x
    """
)
"""Letters that may follow a number without making it a code."""

PLACES_LATIN = frozenset(
    words_of(
        """
    paris tokyo london berlin rome madrid moscow beijing shanghai guangzhou shenzhen
    hangzhou chengdu singapore seoul osaka kyoto bangkok sydney melbourne dubai chicago
    boston seattle toronto vancouver amsterdam vienna prague lisbon barcelona milan munich
    hamburg zurich geneva dublin oslo stockholm copenhagen helsinki warsaw budapest athens
    istanbul cairo delhi mumbai washington miami denver dallas houston france germany japan
    china india spain italy england
    """
    )
)
"""Places people also write without a capital letter."""

LANGUAGES = words_of(
    """
    english french german spanish italian portuguese russian chinese japanese korean arabic
    hindi dutch swedish polish turkish greek latin 英语 英文 法语 法文 德语 德文 西班牙语 意大利语 葡萄牙语 俄语 俄文 中文
    汉语 日语 日文 韩语 韩文 阿拉伯语
    """
)

WEEKDAYS = {
    "Monday": "星期一",
    "Tuesday": "星期二",
    "Wednesday": "星期三",
    "Thursday": "星期四",
    "Friday": "星期五",
    "Saturday": "星期六",
    "Sunday": "星期日",
}

SKIES = {
    "clear sky": "晴",
    "mainly clear": "大致晴朗",
    "partly cloudy": "局部多云",
    "overcast": "阴",
    "fog": "有雾",
    "light drizzle": "小毛毛雨",
    "drizzle": "毛毛雨",
    "light rain": "小雨",
    "rain": "雨",
    "heavy rain": "大雨",
    "light snow": "小雪",
    "snow": "雪",
    "heavy snow": "大雪",
    "light showers": "小阵雨",
    "showers": "阵雨",
    "violent showers": "强阵雨",
    "thunderstorm": "雷暴",
    "sunny": "晴",
    "cloudy": "多云",
    "clear": "晴",
}

ROLES = {
    "expression": "expression expr formula equation calculation math arithmetic 表达式 算式 公式",
    "path": "path file filename filepath directory folder dir document 文件 路径 目录 文件名",
    "url": "url uri link website webpage endpoint href 网址 链接",
    "email": "email mail recipient to cc bcc sender receiver 邮箱 收件人",
    "glob": "glob globs include exclude",
    "code": "command cmd script snippet shell sql argv 命令 脚本",
    "zone": "timezone tz zone 时区",
    "date": "date day deadline due birthday departure arrival checkin checkout when 日期",
    "time": "time hour clock 时间",
    "place": "city town location place country region destination origin area address station "
    "airport state from to where departure arrival 城市 地点 地方 位置 国家 起点 终点 目的地",
    "language": "language lang locale 语言",
    "symbol": "symbol ticker stock currency code base quote 股票 代码 货币",
    "id": "id identifier key uuid sku number code no ref reference 编号 号码",
    "name": "name user username person customer author artist company title contact owner who "
    "recipient to sender player employee student song track album movie film game product item dish "
    "restaurant hotel team event 名字 姓名 用户 名称 公司 歌曲 产品 商品",
    "text": "query q text message content body keyword keywords question prompt term search topic "
    "subject title note description pattern phrase sentence input word string task reason comment "
    "关键词 内容 文本 问题 标题 正文 描述 消息 句子",
}
"""What a string parameter holds, by the words in its name."""

KINDS = {
    "expression": ("expression",),
    "path": ("path", "quoted"),
    "url": ("url",),
    "email": ("email",),
    "glob": ("glob",),
    "code": ("quoted",),
    "zone": ("zone", "place", "name"),
    "date": ("date", "datetime"),
    "time": ("time", "datetime"),
    "place": ("place", "name", "quoted"),
    "language": ("language", "quoted"),
    "symbol": ("symbol", "quoted", "name"),
    "id": ("code", "uuid", "quoted", "number", "symbol"),
    "name": ("name", "quoted", "place"),
    "text": ("quoted",),
}
"""Which values in a prompt can fill a role, best first."""

FORMATS = {
    "uri": "url",
    "uri-reference": "url",
    "iri": "url",
    "email": "email",
    "idn-email": "email",
    "date": "date",
    "date-time": "date",
    "time": "time",
    "uuid": "id",
    "path": "path",
    "file-path": "path",
    "directory-path": "path",
}
"""JSON Schema formats that tell the role."""
